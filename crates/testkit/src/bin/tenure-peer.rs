//! One contender in a process of its own; see `tenure_testkit::peer`.

fn main() {
    std::process::exit(tenure_testkit::peer::main(std::env::args().skip(1)));
}
