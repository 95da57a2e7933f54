//! Lines in the output of a run that existing clients recognize.

pub(crate) const STREAM_STARTED: &str = "<<< 処理開始 >>>";
pub(crate) const STREAM_FINISHED: &str = "<<< 処理終了 >>>";
pub(crate) const STREAM_CANCELLED: &str = "<<< 処理中断 >>>";

/// Existing clients take this line as "ended with an error".
pub(crate) const STREAM_FAILED: &str = "!";

pub(crate) const CANCEL_TAKEN: &str = "処理中断！";
