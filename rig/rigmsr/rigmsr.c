// SPDX-License-Identifier: GPL-2.0
/*
 * rigmsr: gives a machine under QEMU's software emulation the model-specific registers that a
 * measuring program reads, with values that move.
 *
 * The emulator answers 0 for every MSR that it does not model, and no access ever fails. This
 * module puts return probes on rdmsr_safe_on_cpu() and wrmsr_safe_on_cpu(), the functions behind
 * pread(2) and pwrite(2) of /dev/cpu/N/msr. The character device, its permissions, the call to the
 * other CPU, the EIO path and the lines in the kernel log stay the kernel's own.
 *
 * APERF runs at the speed of the P-state that cpufreq has chosen (I/O ports 0x81 and 0x82 of
 * image/rig.asl), MPERF at full speed. From outside:
 *   port 0x83  percentage of MPERF at which APERF runs instead; 0: as the P-state says
 *   port 0x87  faults, see FAULT_*
 * The speed at the time of an access is taken for all the time since the access before it.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <asm/io.h>
#include <asm/msr.h>

#define CPUS 8

enum {
	PORT_PSTATE = 0x81,
	PORT_RATIO = 0x83,
	PORT_FAULTS = 0x87,
	PORT_TEMPERATURE = 0x89,
};

enum {
	FAULT_NO_ERRORS = 1,	/* unknown MSRs do not fail */
	FAULT_THROTTLED = 2,	/* PROCHOT now, and in the log */
	FAULT_WAS_THROTTLED = 4,	/* in the log only */
	FAULT_UNREADABLE = 8,	/* APERF and MPERF fail */
	FAULT_STUCK = 16,	/* counters stand still */
};

enum {
	TJMAX = 100,		/* degrees Celsius */
	STATUS_PROCHOT = 1,
	STATUS_LOG = 2,
	FIXED_CTRL_KNOWN = 0xfff,
};

/* Intel SDM volume 4 */
enum {
	R_TSC = 0x10, R_PLATFORM_INFO = 0xce, R_MPERF = 0xe7, R_APERF = 0xe8, R_THERM_STATUS = 0x19c,
	R_TEMPERATURE_TARGET = 0x1a2,
	R_PACKAGE_THERM_STATUS = 0x1b1, R_FIXED0 = 0x309, R_FIXED1 = 0x30a, R_FIXED2 = 0x30b,
	R_FIXED_CTRL = 0x38d, R_GLOBAL_CTRL = 0x38f,
};

static DEFINE_RAW_SPINLOCK(lock);

static struct counters {
	u64 last;		/* TSC of the last access */
	u64 mperf, aperf;
	u64 fixed[3];		/* instructions, core cycles, reference cycles */
	u64 fixed_ctrl, global_ctrl;
	u64 throttle_log;
} all[CPUS];

/* What a probe keeps between entry and return. */
struct access {
	unsigned int cpu;
	u32 reg;
	u32 *low, *high;	/* read */
	u32 new_low, new_high;	/* write */
};

/* The kernel's function keeps its result, or the probe decides. */
enum verdict { PASS = 0, DONE = 1 };

static u32 speed(unsigned int cpu)
{
	u32 percent = inb(PORT_RATIO);

	if (percent)
		return percent;
	switch (inb(PORT_PSTATE + (cpu & 1))) {
	case 0x18:
		return 80;
	case 0x20:
		return 60;
	case 0x28:
		return 27;
	default:
		return 100;
	}
}

static void advance(struct counters *c, unsigned int cpu)
{
	u64 now = rdtsc(), delta = now - c->last, cycles = delta * speed(cpu) / 100;
	u32 enabled = c->global_ctrl >> 32;

	c->last = now;
	if (inb(PORT_FAULTS) & FAULT_STUCK)
		return;
	c->mperf += delta;
	c->aperf += cycles;
	if ((enabled & 1) && (c->fixed_ctrl & 0x003))
		c->fixed[0] += cycles * 3 / 2;
	if ((enabled & 2) && (c->fixed_ctrl & 0x030))
		c->fixed[1] += cycles;
	if ((enabled & 4) && (c->fixed_ctrl & 0x300))
		c->fixed[2] += delta;
}

static u64 thermal_status(struct counters *c, unsigned int cpu, u32 reg, u8 faults)
{
	u32 halves = inb(PORT_TEMPERATURE + (cpu & 1)), degrees = halves ? halves / 2 : 40;
	u64 value = (u64)(degrees > TJMAX ? 0 : TJMAX - degrees) << 16;

	if (faults & (FAULT_THROTTLED | FAULT_WAS_THROTTLED))
		c->throttle_log = STATUS_LOG;
	value |= c->throttle_log;
	if (faults & FAULT_THROTTLED)
		value |= STATUS_PROCHOT;
	if (reg == R_THERM_STATUS)
		value |= 1u << 31;	/* the reading is valid */
	return value;
}

/* MSRs that the emulator models: its answer stands. */
static bool modelled(u32 r)
{
	return r == 0x1b || r == 0x8b || r == 0xfe || (r >= 0x174 && r <= 0x17a) || r == 0x1a0 ||
	       (r >= 0x200 && r < 0x210) || r == 0x250 ||
	       r == 0x258 || r == 0x259 || (r >= 0x268 && r <= 0x26f) || r == 0x277 || r == 0x2ff ||
	       (r >= 0x400 && r < 0x440) ||
	       (r >= 0xc0000080 && r <= 0xc0000084) || (r >= 0xc0000100 && r <= 0xc0000103);
}

/* Where a plain counter or control register lives; NULL for all others. */
static u64 *storage(struct counters *c, u32 reg)
{
	switch (reg) {
	case R_MPERF:
		return &c->mperf;
	case R_APERF:
		return &c->aperf;
	case R_FIXED0:
	case R_FIXED1:
	case R_FIXED2:
		return &c->fixed[reg - R_FIXED0];
	case R_FIXED_CTRL:
		return &c->fixed_ctrl;
	case R_GLOBAL_CTRL:
		return &c->global_ctrl;
	default:
		return NULL;
	}
}

static int read_register(struct access *a, u64 *value)
{
	struct counters *c = &all[a->cpu % CPUS];
	u8 faults = inb(PORT_FAULTS);
	u64 *stored = storage(c, a->reg);

	advance(c, a->cpu);
	if ((a->reg == R_MPERF || a->reg == R_APERF) && (faults & FAULT_UNREADABLE))
		return -EIO;
	if (stored) {
		*value = *stored;
		return DONE;
	}
	switch (a->reg) {
	case R_TSC:
		*value = rdtsc();
		return DONE;
	case R_PLATFORM_INFO:
		*value = 30 << 8;	/* 3000 MHz */
		return DONE;
	case R_TEMPERATURE_TARGET:
		*value = TJMAX << 16;
		return DONE;
	case R_THERM_STATUS:
	case R_PACKAGE_THERM_STATUS:
		*value = thermal_status(c, a->cpu, a->reg, faults);
		return DONE;
	}
	return modelled(a->reg) || (faults & FAULT_NO_ERRORS) ? PASS : -EIO;
}

static int write_register(struct access *a)
{
	struct counters *c = &all[a->cpu % CPUS];
	u64 value = (u64)a->new_high << 32 | a->new_low;
	u64 *stored = storage(c, a->reg);

	advance(c, a->cpu);
	if (a->reg == R_FIXED_CTRL && (value & ~(u64)FIXED_CTRL_KNOWN))
		return -EIO;
	if (stored) {
		*stored = value;
		return DONE;
	}
	if (a->reg == R_THERM_STATUS || a->reg == R_PACKAGE_THERM_STATUS) {
		c->throttle_log = value & STATUS_LOG;
		return DONE;
	}
	return modelled(a->reg) || (inb(PORT_FAULTS) & FAULT_NO_ERRORS) ? PASS : -EIO;
}

/* int rdmsr_safe_on_cpu(unsigned int cpu, u32 msr_no, u32 *l, u32 *h) */
static int enter_read(struct kretprobe_instance *probe, struct pt_regs *regs)
{
	struct access *a = (void *)probe->data;

	a->cpu = regs->di;
	a->reg = regs->si;
	a->low = (u32 *)regs->dx;
	a->high = (u32 *)regs->cx;
	return 0;
}

static int leave_read(struct kretprobe_instance *probe, struct pt_regs *regs)
{
	struct access *a = (void *)probe->data;
	unsigned long flags;
	u64 value = 0;
	int verdict;

	raw_spin_lock_irqsave(&lock, flags);
	verdict = read_register(a, &value);
	raw_spin_unlock_irqrestore(&lock, flags);
	if (verdict == DONE) {
		*a->low = value;
		*a->high = value >> 32;
	}
	if (verdict != PASS)
		regs_set_return_value(regs, verdict == DONE ? 0 : verdict);
	return 0;
}

/* int wrmsr_safe_on_cpu(unsigned int cpu, u32 msr_no, u32 l, u32 h) */
static int enter_write(struct kretprobe_instance *probe, struct pt_regs *regs)
{
	struct access *a = (void *)probe->data;

	a->cpu = regs->di;
	a->reg = regs->si;
	a->new_low = regs->dx;
	a->new_high = regs->cx;
	return 0;
}

static int leave_write(struct kretprobe_instance *probe, struct pt_regs *regs)
{
	struct access *a = (void *)probe->data;
	unsigned long flags;
	int verdict;

	raw_spin_lock_irqsave(&lock, flags);
	verdict = write_register(a);
	raw_spin_unlock_irqrestore(&lock, flags);
	if (verdict != PASS)
		regs_set_return_value(regs, verdict == DONE ? 0 : verdict);
	return 0;
}

static struct kretprobe read_probe = {
	.kp.symbol_name = "rdmsr_safe_on_cpu",
	.entry_handler = enter_read,
	.handler = leave_read,
	.data_size = sizeof(struct access),
	.maxactive = 32,
};

static struct kretprobe write_probe = {
	.kp.symbol_name = "wrmsr_safe_on_cpu",
	.entry_handler = enter_write,
	.handler = leave_write,
	.data_size = sizeof(struct access),
	.maxactive = 32,
};

static struct kretprobe *probes[] = { &read_probe, &write_probe };

static int __init rigmsr_init(void)
{
	u64 now = rdtsc();
	int i;

	for (i = 0; i < CPUS; i++)
		all[i].last = all[i].mperf = all[i].aperf = now;
	return register_kretprobes(probes, ARRAY_SIZE(probes));
}

static void __exit rigmsr_exit(void)
{
	unregister_kretprobes(probes, ARRAY_SIZE(probes));
}

module_init(rigmsr_init);
module_exit(rigmsr_exit);
MODULE_DESCRIPTION("Model-specific registers with moving values, for tests under emulation");
MODULE_LICENSE("GPL");
