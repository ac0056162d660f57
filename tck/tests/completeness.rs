//! Every sentence that the trait states is in the suite, once, in the same order.

use simba_tck::contract::SENTENCES;

const CONTRACT: &str = include_str!("../../simba-backends/src/backend.rs");

/// `L10` of `/// - **L10** No client's ...`.
fn stated() -> Vec<String> {
    let bold = |line: &str| Some(line.strip_prefix("/// - **")?.split_once("**")?.0.to_lowercase());
    CONTRACT.lines().filter_map(bold).collect()
}

#[test]
fn each_sentence_of_the_contract_has_one_test() {
    let tested: Vec<_> = SENTENCES.iter().filter_map(|name| name.split('_').next()).collect();
    assert_eq!(stated(), tested);
}
