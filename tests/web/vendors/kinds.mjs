// What the stand-ins of all vendors have in common: what they are told to answer, and what they make of a request.

/**
 * A tool call of an answer, its arguments in the pieces in which they are streamed.
 * @typedef {{ id: string, name: string, pieces: string[] }} Call
 *
 * What the model answers. One that hangs never ends.
 * @typedef {{ text?: string, calls?: Call[], hangs?: boolean }} Answer
 *
 * @typedef {{ id: string, text: string, isError: boolean }} Result
 * @typedef {{ name: string, description: string, schema: any }} Tool
 *
 * A request of the gateway, read as the vendor would read it.
 * @typedef {{ system: string, tools: Tool[], asked: string[], results: Result[] }} Request
 *
 * An answer, put together by the vendor's own client.
 * @typedef {{ text: string, calls: { id: string, name: string, args: any }[] }} Reassembled
 *
 * @typedef {object} Vendor
 * @property {string} kind  as `[[chat]]` has it
 * @property {string} base  the path of `base_url`
 * @property {string} model
 * @property {string} resultOfError  how the text of a failed call begins
 * @property {(answer: Answer) => string} stream  the body of the answer
 * @property {(path: string, headers: import("node:http").IncomingHttpHeaders, body: any) => Request} read  throws where the vendor would refuse
 * @property {(reason: string) => object} refuse  the body of a refusal
 * @property {(url: string, key: string, body: any) => Promise<Reassembled>} converse  sends the same request with the vendor's client
 */

/** Names that every vendor takes. */
export const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

/** @param {unknown[]} events @param {(event: any) => string} [name] */
export function sse(events, name) {
  return events.map((event) => `${name ? `event: ${name(event)}\n` : ""}data: ${JSON.stringify(event)}\n\n`).join("");
}

/**
 * Arguments as an object, as far as they are one.
 * @param {string} text
 */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
