//! Contents of packets about an agent's activity: tool calls, plan, tokens, state.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct ToolBody<'a> {
    pub(crate) id: &'a str,
    #[serde(rename = "名前")]
    pub(crate) name: &'a str,
    #[serde(rename = "種類")]
    pub(crate) kind: &'a str,
    #[serde(rename = "状態")]
    pub(crate) state: &'a str,
    #[serde(rename = "入力")]
    pub(crate) input: Option<&'a str>,
    #[serde(rename = "出力")]
    pub(crate) output: Option<&'a str>,
    #[serde(rename = "エラー")]
    pub(crate) error: Option<&'a str>,
    #[serde(rename = "パス")]
    pub(crate) paths: &'a [String],
    #[serde(rename = "承認なし")]
    pub(crate) ungated: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct PlanBody<'a> {
    #[serde(rename = "手順")]
    pub(crate) steps: Vec<PlanRow<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PlanRow<'a> {
    #[serde(rename = "内容")]
    pub(crate) text: &'a str,
    #[serde(rename = "状態")]
    pub(crate) state: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct UsageBody<'a> {
    #[serde(rename = "使用トークン")]
    pub(crate) used: u64,
    #[serde(rename = "上限トークン")]
    pub(crate) size: u64,
    #[serde(rename = "費用")]
    pub(crate) cost: Option<CostBody<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CostBody<'a> {
    #[serde(rename = "金額")]
    pub(crate) amount: f64,
    #[serde(rename = "通貨")]
    pub(crate) currency: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct StateBody<'a> {
    #[serde(rename = "状態")]
    pub(crate) state: &'a str,
}
