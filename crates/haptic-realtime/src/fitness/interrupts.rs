//! Checks whether interrupts of USB controllers are routed to the loop's core.

use super::{Check, Finding, Machine};
use crate::thread::parse_cpu_list;

const USB: Check =
    Check { id: "usb-interrupts", what: "a USB controller's interrupts on the loop's core delay its wake-ups" };

pub(super) fn inspect(machine: &Machine, cpu: Option<usize>) -> Vec<Finding> {
    let interrupts = machine.text("proc/interrupts").unwrap_or_default();
    let mut routed = Vec::new();
    for number in usb_interrupts(&interrupts) {
        let effective = machine.text(&format!("proc/irq/{number}/effective_affinity_list"));
        let allowed = effective.or_else(|| machine.text(&format!("proc/irq/{number}/smp_affinity_list")));
        routed.push((number, parse_cpu_list(&allowed.unwrap_or_default())));
    }
    vec![judge(&routed, cpu)]
}

/// Interrupt numbers of the xHCI controllers, from `/proc/interrupts`.
fn usb_interrupts(interrupts: &str) -> Vec<u32> {
    let usb_lines = interrupts.lines().filter(|line| line.contains("xhci"));
    usb_lines.filter_map(|line| line.split_once(':')?.0.trim().parse().ok()).collect()
}

fn judge(routed: &[(u32, Vec<usize>)], cpu: Option<usize>) -> Finding {
    if routed.is_empty() {
        return USB.ok("no USB 3 controller");
    }
    let on_loop = |(_, cpus): &&(u32, Vec<usize>)| cpu.is_some_and(|cpu| cpus.contains(&cpu));
    let numbers: Vec<String> = routed.iter().filter(on_loop).map(|(number, _)| number.to_string()).collect();
    if numbers.is_empty() {
        return USB.ok(format!("{} interrupts, none on the loop's core", routed.len()));
    }
    let elsewhere = if cpu == Some(0) { 1 } else { 0 };
    let move_away = |number: &String| format!("echo {elsewhere} > /proc/irq/{number}/smp_affinity_list");
    let remedy = numbers.iter().map(move_away).collect::<Vec<_>>().join("; ");
    USB.warn(format!("interrupts {} may be routed to the loop's core", numbers.join(", ")), remedy)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    const SAMPLE: &str = "           CPU0       CPU1
  1:          9          0  IR-IO-APIC    1-edge      i8042
126:          0    1843021  IR-PCI-MSI-0000:00:14.0    0-edge      xhci_hcd
127:         12          0  IR-PCI-MSI-0000:00:1f.3    0-edge      snd_hda_intel
NMI:          3          4   Non-maskable interrupts";

    #[test]
    fn the_controllers_interrupts_are_found_by_number() {
        assert_eq!(usb_interrupts(SAMPLE), [126]);
        assert_eq!(usb_interrupts(""), []);
    }

    #[test]
    fn an_interrupt_on_the_loops_core_warns_with_the_command_that_moves_it() {
        let finding = judge(&[(126, vec![1])], Some(1));
        assert_eq!(finding.verdict, Verdict::Warn);
        assert_eq!(finding.remedy.as_deref(), Some("echo 0 > /proc/irq/126/smp_affinity_list"));
        let on_core_zero = judge(&[(126, vec![0])], Some(0));
        assert_eq!(on_core_zero.remedy.as_deref(), Some("echo 1 > /proc/irq/126/smp_affinity_list"));
    }

    #[test]
    fn an_interrupt_elsewhere_or_no_controller_is_ok() {
        assert_eq!(judge(&[(126, vec![0])], Some(1)).verdict, Verdict::Ok);
        assert_eq!(judge(&[], Some(1)).verdict, Verdict::Ok);
    }
}
