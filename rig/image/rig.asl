// SSDT of the rig's machine, given to QEMU with -acpitable (q35 and pc).
//
// QEMU's own tables have neither P-states nor thermal zones. This table adds both, with their registers in I/O ports that QEMU keeps but
// nobody uses: the page registers of the two i8257 DMA controllers. A port that the guest writes can be read by the host, and the other way
// round, so a test sees the governor's choice and sets the temperature without any code in the guest.
//
//   0x81, 0x82  P-state of CPU 0 and 1, written by acpi-cpufreq (0x10 = 3000 MHz, 0x18 = 2400, 0x20 = 1800, 0x28 = 800; 0 until then)
//   0x83, 0x87  belong to the rigmsr module (APERF percentage, faults)
//   0x89, 0x8a  temperature of zone 0 and 1 in half degrees Celsius; 0, the value at power-on, means 40 degrees
//   0x8b        _PPC of both CPUs: how many of the fastest P-states are forbidden; read once, when the cpufreq driver binds
//
// rig.aml beside this file is the compiled form, committed so that nobody needs a compiler: iasl -p rig rig.asl
DefinitionBlock ("", "SSDT", 2, "RIG   ", "RIGRIG  ", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)

    Name (\RPSS, Package () {
        Package () { 3000, 65000, 10, 10, 0x10, 0x10 },   // MHz, mW, us, us, control, status
        Package () { 2400, 50000, 10, 10, 0x18, 0x18 },
        Package () { 1800, 35000, 10, 10, 0x20, 0x20 },
        Package () {  800, 12000, 10, 10, 0x28, 0x28 } })

    OperationRegion (\RIGT, SystemIO, 0x89, 3)
    Field (\RIGT, ByteAcc, NoLock, Preserve) { TMP0, 8, TMP1, 8, PPCV, 8 }

    Scope (\_SB.CPUS.C000)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x81) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x81) } })
        Method (_PSS) { Return (\RPSS) }
        Method (_PPC) { Return (\PPCV) }
        Name (_PSD, Package () { Package () { 5, 0, 0, 0xFE, 1 } })
    }
    Scope (\_SB.CPUS.C001)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x82) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x82) } })
        Method (_PSS) { Return (\RPSS) }
        Method (_PPC) { Return (\PPCV) }
        Name (_PSD, Package () { Package () { 5, 0, 1, 0xFE, 1 } })
    }
    Scope (\_SB)
    {
        ThermalZone (TZ00)
        {
            Method (_TMP) { If (\TMP0 == 0) { Return (3132) } Return (2732 + \TMP0 * 5) }
            Name (_CRT, 3992)        // 126 C; the kernel powers off there, as on real hardware
        }
        ThermalZone (TZ01)
        {
            Method (_TMP) { If (\TMP1 == 0) { Return (3132) } Return (2732 + \TMP1 * 5) }
            Name (_CRT, 3992)
        }
    }
}
