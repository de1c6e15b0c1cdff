//! Under `cargo xtask fuzz` this is a fuzzer, of the target that `TENURE_FUZZ_TARGET`
//! names. Otherwise it unpacks and packs what is kept, for that command.

#![expect(unexpected_cfgs)] // `cargo xtask fuzz` gives it to the compiler, not to cargo.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
mod fuzzer {
    use std::sync::LazyLock;

    use tenure_fuzz::Target;

    static TARGET: LazyLock<Target> = LazyLock::new(|| {
        let name = std::env::var("TENURE_FUZZ_TARGET").unwrap_or_default();
        Target::find(&name).unwrap_or_else(|| panic!("TENURE_FUZZ_TARGET is {name:?}"))
    });

    libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.run)(input));
}

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    use tenure_fuzz::{TARGETS, corpus};

    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["targets"] => {
            for target in TARGETS {
                println!("{}", target.name);
            }
            Ok(())
        }
        ["unpack", target, folder] => corpus::unpack(target, folder.as_ref()),
        ["pack", target, folder] => corpus::pack(target, folder.as_ref()),
        _ => Err(std::io::Error::other("run `cargo xtask fuzz`")),
    }
}
