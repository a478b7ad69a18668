//! Checks whether device ports are accessible and not in use by other programs.
//!
//! No port is opened: opening a serial port raises its DTR line, which resets many boards.

use std::path::PathBuf;

use rustix::fs::{Access, access};

use super::{Check, Finding, Machine};

const HIDRAW: Check = Check { id: "hidraw-access", what: "HID devices are driven through /dev/hidraw*" };
const SERIAL: Check =
    Check { id: "serial-access", what: "serial devices are driven through /dev/ttyACM* and /dev/ttyUSB*" };
const FTDI: Check =
    Check { id: "ftdi-latency-timer", what: "an FTDI adapter delays received bytes by its latency timer" };
const IN_USE: Check = Check { id: "serial-in-use", what: "two programs on one serial port steal each other's bytes" };
const MODEM_MANAGER: Check = Check { id: "modem-manager", what: "ModemManager sends AT commands to new serial ports" };

/// Remedy for whatever the udev rules of `hapticd` set up.
const INSTALL_RULES: &str = "sudo hapticd install-udev, then plug the device in again";

/// Longest latency timer that fits in a tick, ms.
const LONGEST_TIMER_MS: u64 = 1;

pub(super) fn inspect(machine: &Machine) -> Vec<Finding> {
    let devices = machine.names("dev");
    let mut hidraw = with_prefix(&devices, &["hidraw"]);
    hidraw.retain(|name| !is_keyboard_or_mouse(machine, name));
    let serial = with_prefix(&devices, &["ttyACM", "ttyUSB"]);
    let usable =
        |name: &String| access(machine.path(&format!("dev/{name}")), Access::READ_OK | Access::WRITE_OK).is_ok();
    let locked = |names: &[String]| names.iter().filter(|name| !usable(name)).cloned().collect::<Vec<_>>();
    let is_modem_manager =
        |process: &u32| machine.text(&format!("proc/{process}/comm")).as_deref() == Some("ModemManager");
    vec![
        judge_access(HIDRAW, hidraw.len(), &locked(&hidraw)),
        judge_access(SERIAL, serial.len(), &locked(&serial)),
        judge_timers(&latency_timers(machine)),
        judge_in_use(&ports_in_use(machine, &serial)),
        judge_modem_manager(processes(machine).iter().any(is_modem_manager), serial.len()),
    ]
}

fn with_prefix(names: &[String], prefixes: &[&str]) -> Vec<String> {
    let matches = |name: &&String| prefixes.iter().any(|prefix| name.starts_with(prefix));
    names.iter().filter(matches).cloned().collect()
}

/// Whether a hidraw node is the boot interface of a keyboard or a mouse, which the udev rules leave closed.
fn is_keyboard_or_mouse(machine: &Machine, hidraw: &str) -> bool {
    let protocol = machine.text(&format!("sys/class/hidraw/{hidraw}/device/../bInterfaceProtocol"));
    matches!(protocol.as_deref(), Some("01" | "02"))
}

fn judge_access(check: Check, count: usize, locked: &[String]) -> Finding {
    match (count, locked) {
        (0, _) => check.ok("no devices"),
        (_, []) => check.ok(format!("all {count} can be read and written")),
        _ => check.warn(format!("not permitted: {}", locked.join(", ")), INSTALL_RULES),
    }
}

/// Names of the FTDI ports, each with its latency timer, ms.
fn latency_timers(machine: &Machine) -> Vec<(String, u64)> {
    const FOLDER: &str = "sys/bus/usb-serial/devices";
    let timer = |port: &String| machine.text(&format!("{FOLDER}/{port}/latency_timer"))?.parse().ok();
    machine.names(FOLDER).into_iter().filter_map(|port| timer(&port).map(|timer_ms| (port, timer_ms))).collect()
}

fn judge_timers(timers: &[(String, u64)]) -> Finding {
    let slow: Vec<_> = timers.iter().filter(|(_, timer_ms)| *timer_ms > LONGEST_TIMER_MS).collect();
    if slow.is_empty() {
        return FTDI.ok(if timers.is_empty() { "no FTDI adapter" } else { "1 ms" });
    }
    let measured: Vec<_> = slow.iter().map(|(port, timer_ms)| format!("{port}: {timer_ms} ms")).collect();
    FTDI.warn(measured.join(", "), INSTALL_RULES)
}

fn processes(machine: &Machine) -> Vec<u32> {
    machine.names("proc").iter().filter_map(|name| name.parse().ok()).collect()
}

/// Open serial ports, each with the id of a process that has it open. Without privileges, only the user's own processes
/// are visible.
fn ports_in_use(machine: &Machine, ports: &[String]) -> Vec<(String, u32)> {
    let mut in_use = Vec::new();
    if ports.is_empty() {
        return in_use;
    }
    for process in processes(machine) {
        let folder = format!("proc/{process}/fd");
        let targets = machine.names(&folder).into_iter().filter_map(|file| machine.link(&format!("{folder}/{file}")));
        in_use.extend(targets.filter_map(|target| port_name(target, ports)).map(|port| (port, process)));
    }
    in_use.sort_unstable();
    in_use.dedup();
    in_use
}

/// Name of the serial port that an open file's link points to; `None` if `target` is not one of `ports`.
fn port_name(target: PathBuf, ports: &[String]) -> Option<String> {
    let name = target.strip_prefix("/dev").ok()?.to_str()?.to_owned();
    ports.contains(&name).then_some(name)
}

fn judge_in_use(in_use: &[(String, u32)]) -> Finding {
    if in_use.is_empty() {
        return IN_USE.ok("no port is open");
    }
    let users: Vec<_> = in_use.iter().map(|(port, process)| format!("{port} by process {process}")).collect();
    IN_USE.warn(users.join(", "), "end that process, or choose another port")
}

fn judge_modem_manager(runs: bool, serial_ports: usize) -> Finding {
    match (runs, serial_ports) {
        (false, _) => MODEM_MANAGER.ok("not running"),
        (true, 0) => MODEM_MANAGER.ok("running, but there is no serial port"),
        (true, _) => MODEM_MANAGER.warn("running", INSTALL_RULES),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn ports_are_picked_by_their_prefix() {
        let devices = names(&["hidraw0", "null", "tty0", "ttyACM0", "ttyUSB1"]);
        assert_eq!(with_prefix(&devices, &["ttyACM", "ttyUSB"]), ["ttyACM0", "ttyUSB1"]);
    }

    #[test]
    fn keyboards_and_mice_may_stay_closed() {
        let root = haptic_testing::TestFolder::new();
        for (hidraw, protocol) in [("hidraw0", "01"), ("hidraw1", "00"), ("hidraw2", "02")] {
            let interface = root.join("sys/devices").join(hidraw);
            std::fs::create_dir_all(interface.join("hid")).unwrap();
            std::fs::write(interface.join("bInterfaceProtocol"), format!("{protocol}\n")).unwrap();
            let class = root.join("sys/class/hidraw").join(hidraw);
            std::fs::create_dir_all(&class).unwrap();
            std::os::unix::fs::symlink(interface.join("hid"), class.join("device")).unwrap();
        }
        let machine = Machine::at(root.path());
        let closed = ["hidraw0", "hidraw1", "hidraw2", "hidraw3"].map(|name| is_keyboard_or_mouse(&machine, name));
        assert_eq!(closed, [true, false, true, false]);
    }

    #[test]
    fn ports_that_are_not_permitted_are_named() {
        let finding = judge_access(HIDRAW, 2, &names(&["hidraw1"]));
        assert_eq!((finding.verdict, finding.measured.as_str()), (Verdict::Warn, "not permitted: hidraw1"));
        assert_eq!(judge_access(HIDRAW, 2, &[]).verdict, Verdict::Ok);
        assert_eq!(judge_access(HIDRAW, 0, &[]).verdict, Verdict::Ok);
    }

    #[test]
    fn the_default_ftdi_timer_warns_with_the_command_that_shortens_it() {
        let finding = judge_timers(&[("ttyUSB0".to_owned(), 16), ("ttyUSB1".to_owned(), 1)]);
        assert_eq!(finding.measured, "ttyUSB0: 16 ms");
        assert_eq!(finding.remedy.as_deref(), Some(INSTALL_RULES));
        assert_eq!(judge_timers(&[]).verdict, Verdict::Ok);
    }

    #[test]
    fn an_open_port_is_recognised_by_its_link() {
        let ports = names(&["ttyACM0"]);
        assert_eq!(port_name(PathBuf::from("/dev/ttyACM0"), &ports), Some("ttyACM0".to_owned()));
        assert_eq!(port_name(PathBuf::from("/home/ttyACM0"), &ports), None);
        assert_eq!(port_name(PathBuf::from("socket:[5]"), &ports), None);
        assert!(judge_in_use(&[("ttyACM0".to_owned(), 42)]).measured.contains("process 42"));
    }

    #[test]
    fn modem_manager_matters_only_with_a_serial_port() {
        assert_eq!(judge_modem_manager(true, 1).verdict, Verdict::Warn);
        assert_eq!(judge_modem_manager(true, 0).verdict, Verdict::Ok);
        assert_eq!(judge_modem_manager(false, 1).verdict, Verdict::Ok);
    }
}
