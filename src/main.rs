// SPDX-License-Identifier: GPL-2.0-only
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = artis::cli::exit::prepare() {
        return artis::cli::exit::failure(&error);
    }
    let cli = match artis::cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return artis::cli::exit::parse_error(&error),
    };
    match artis::cli::run(cli) {
        Ok(code) => code,
        Err(error) => artis::cli::exit::failure(&error),
    }
}
