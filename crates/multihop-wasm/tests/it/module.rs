//! The functions of the module, called as the page does. Each thread has a separate module.
#![expect(unsafe_code, reason = "the page copies requests and answers in the same way")]

use multihop_wasm as module;

fn ask(request: &str) -> u32 {
    let place = module::input(request.len());
    // SAFETY: `input` made room for exactly these bytes.
    unsafe { std::ptr::copy_nonoverlapping(request.as_ptr(), place, request.len()) };
    module::load()
}

fn answer() -> String {
    // SAFETY: the answer stays in place until the next call.
    let bytes = unsafe { std::slice::from_raw_parts(module::output(), module::output_length()) };
    String::from_utf8(bytes.to_vec()).expect("answers are text")
}

const CHAIN: &str = r#"{"text": "duration = 2.0\n[topology]\nkind = \"chain\"\nhops = 2\n[[flow]]\ntransport = \"newreno\"\n",
    "name": "chain.toml", "overrides": [["seed", "7"]]}"#;

#[test]
fn a_request_is_answered_with_the_network_and_then_the_result() {
    assert_eq!(ask(CHAIN), 1, "{}", answer());
    let network: serde_json::Value = serde_json::from_str(&answer()).unwrap();
    assert_eq!(network["seed"], 7);
    assert_eq!(network["nodes"].as_array().unwrap().len(), 3);
    assert_eq!(network["radios"][0]["decode_range"], 250.0);
    module::detailed(1);
    module::advance(1e9);
    assert!(module::records_length() > 0 && module::records_length().is_multiple_of(12));
    module::fields();
    assert!(answer().contains("sequence number"), "{}", answer());
    module::names();
    assert!(answer().contains("slow-start"), "{}", answer());
    module::finish();
    let result: serde_json::Value = serde_json::from_str(&answer()).unwrap();
    assert!(result["flows"][0]["segments_delivered"].as_u64().unwrap() > 10, "{result}");
    module::advance(3e9);
    module::clear();
    assert_eq!(module::records_length(), 0, "nothing follows the result");
}

#[test]
fn what_cannot_be_run_is_answered_with_a_reason() {
    for (request, reason) in [
        ("{", "EOF"),
        (r#"{"text": "duration = -1.0", "name": "a.toml"}"#, "a.toml:1"),
        (
            r#"{"text": "duration = 5.0\n[topology]\nkind = \"chain\"\nhops = 1\n[[flow]]\ntransport = \"udp\"\napp = \"paced\"\n", "name": "a.toml"}"#,
            r#"found a flow with app = "paced", allowed: ftp, file, pareto, cbr, "#,
        ),
    ] {
        assert_eq!(ask(request), 0, "{request}");
        assert!(answer().contains(reason), "{request}: {}", answer());
    }
}
