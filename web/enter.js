// The cookie is set; the token disappears from the address and from the history.

const address = new URL(window.location);
address.searchParams.delete("token");
window.location.replace(address);
