use super::*;

fn view() -> View {
    View { buffer_full: true, others_must: true, spare_blocks: 5, ..View::default() }
}

#[test]
fn forwarding_has_four_start_conditions_and_one_to_stop() {
    let planner = Planner::Forwarding { spare_blocks: 5 };
    let forward = |view: View| planner.wish(&view) == Wish::Step(Urgency::Idle);
    assert!(forward(view()));
    assert!(!forward(View { buffer_full: false, ..view() }));
    assert!(!forward(View { dirty_pages: 1, ..view() }));
    assert!(!forward(View { others_must: false, ..view() }));
    assert!(!forward(View { spare_blocks: 6, ..view() }));
    // Once in progress, only a dirty page stops it.
    let under_way = View { under_way: true, ..view() };
    assert!(forward(View { buffer_full: false, others_must: false, spare_blocks: 6, ..under_way }));
    assert!(!forward(View { dirty_pages: 1, ..under_way }));
}

#[test]
fn followers_do_what_the_initiator_does() {
    let merge = Step::Merge { block: 7 };
    assert_eq!(Planner::SuperDataBlock.follow(merge), Action::Merge { block: 7 });
    assert_eq!(Planner::SuperDataBlock.follow(Step::Erase), Action::Idle);
    for planner in [Planner::CycleStealing, Planner::CycleFilling { spare_blocks: 5 }] {
        assert_eq!(planner.follow(merge), Action::Copy);
        assert_eq!(planner.follow(Step::Copy), Action::Copy);
        assert_eq!(planner.follow(Step::Move), Action::Idle);
        assert_eq!(planner.follow(Step::Erase), Action::Erase);
    }
    assert!(!Planner::CycleFilling { spare_blocks: 4 }.joins(&view()));
    assert!(Planner::CycleFilling { spare_blocks: 5 }.joins(&view()));
}
