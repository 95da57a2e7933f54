//! Where the command begins that another one runs: behind its options, their values, and what else it takes first.

use super::field::Field;

#[derive(Debug)]
pub(super) struct Wrapper {
    name: &'static str,
    /// Options whose value is the next argument.
    valued: &'static [&'static str],
    /// Arguments before the command.
    first: usize,
}

pub(super) const XARGS: Wrapper = Wrapper {
    name: "xargs",
    valued: &[
        "-I",
        "-n",
        "-P",
        "-d",
        "-L",
        "-s",
        "-a",
        "-E",
        "--max-args",
        "--max-procs",
        "--delimiter",
        "--arg-file",
        "-j",
    ],
    first: 0,
};

pub(super) const WATCH: Wrapper =
    Wrapper { name: "watch", valued: &["-n", "--interval", "-q", "--equexit"], first: 0 };

pub(super) const SSH: Wrapper = Wrapper {
    name: "ssh",
    valued: &["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-W", "-b", "-c", "-m", "-E"],
    first: 1,
};

const ALL: [Wrapper; 55] = [
    of("command", &[], 0),
    of("builtin", &[], 0),
    of("exec", &["-a"], 0),
    of("nohup", &[], 0),
    of("setsid", &[], 0),
    of("noglob", &[], 0),
    of("nocorrect", &[], 0),
    of("-", &[], 0),
    of("busybox", &[], 0),
    of("toybox", &[], 0),
    of("nice", &["-n", "--adjustment"], 0),
    of("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    of("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    of("gtimeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    of("time", &["-f", "-o", "--format", "--output"], 0),
    of("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    of("chrt", &["-T", "-P", "-D"], 1),
    of("taskset", &[], 1),
    of("numactl", &["-m", "-N", "-C", "-i"], 0),
    of("prlimit", &["-p", "--pid"], 0),
    of("cpulimit", &["-l", "-p", "-e"], 0),
    of("unshare", &["-S", "-G", "-R", "-w"], 0),
    of("chroot", &[], 1),
    of("flock", &["-w", "-E", "--timeout", "--conflict-exit-code"], 1),
    of("strace", &["-e", "-o", "-p", "-s", "-u", "-E", "-a", "-I", "-O", "-S", "-P"], 0),
    of("ltrace", &["-e", "-o", "-p", "-s", "-u", "-a", "-l"], 0),
    of("valgrind", &[], 0),
    of("fakeroot", &["-i", "-s", "-l"], 0),
    of("proxychains", &["-f"], 0),
    of("proxychains4", &["-f"], 0),
    of("torsocks", &[], 0),
    of("xvfb-run", &["-s", "-n", "-e", "-f", "-w", "-p"], 0),
    of("dbus-run-session", &[], 0),
    of("systemd-run", &["-p", "-u", "-E", "-t"], 0),
    of("caffeinate", &["-t", "-w"], 0),
    of("unbuffer", &[], 0),
    of("rlwrap", &["-f", "-H", "-s"], 0),
    of("coproc", &[], 0),
    of("nsenter", &["-t", "--target", "-S", "-G", "--setuid", "--setgid"], 0),
    of("setarch", &[], 1),
    of("arch", &[], 0),
    of("linux32", &[], 0),
    of("linux64", &[], 0),
    of("i386", &[], 0),
    of("x86_64", &[], 0),
    of("choom", &["-n", "--adjust"], 0),
    of("eatmydata", &[], 0),
    of("chronic", &[], 0),
    of("ifne", &["-n"], 0),
    of("runcon", &["-u", "-r", "-t", "-l"], 1),
    of("chpst", &["-u", "-e", "-/", "-n", "-m"], 0),
    of("softlimit", &["-m", "-d", "-s", "-t"], 0),
    of("envdir", &[], 1),
    of("dumb-init", &[], 0),
    of("tini", &[], 0),
];

const fn of(name: &'static str, valued: &'static [&'static str], first: usize) -> Wrapper {
    Wrapper { name, valued, first }
}

pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    ALL.iter().find(|wrapper| wrapper.name == name)
}

impl Wrapper {
    pub(super) fn begin(&self, arguments: &[Field]) -> usize {
        let (mut at, mut first, mut options) = (0, self.first, true);
        while let Some(field) = arguments.get(at) {
            let text = field.text.as_str();
            if options && text == "--" {
                options = false;
            } else if options && text.starts_with('-') && text.len() > 1 {
                at += usize::from(self.valued.contains(&text));
            } else if first > 0 {
                first -= 1;
            } else {
                break;
            }
            at += 1;
        }
        at.min(arguments.len())
    }

    /// The value of an option, behind it or as the next argument.
    pub(super) fn value(&self, arguments: &[Field], names: &[&str]) -> Option<String> {
        let options = &arguments[..self.begin(arguments)];
        options.iter().enumerate().find_map(|(index, field)| {
            let name = names.iter().find(|name| field.text.starts_with(**name))?;
            let behind = field.text[name.len()..].trim_start_matches('=');
            let next = || options.get(index + 1).map(|field| field.text.clone());
            if behind.is_empty() { next() } else { Some(behind.to_owned()) }
        })
    }
}
