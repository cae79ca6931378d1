<?php
/*
 * richards - the scheduler of a small operating system: an idle task, a worker,
 * two handlers and two devices send each other packets.
 *
 * parameter  how often the idle task runs, 1 to 10000000
 * checksum   2 to the 24 times the packets queued, plus the times a task was held
 *
 * Based on Martin Richards' benchmark for BCPL, in the form in which it is known from
 * object-oriented languages. For PHP 7.4 and later.
 */

const MOST = 10000000;
const DATA = 4;
const LETTERS = 26;
const WORKER = 1; // the idle task is 0
const HANDLER_A = 2;
const HANDLER_B = 3;
const DEVICE_A = 4;
const DEVICE_B = 5;
const RUNNABLE = 1; // bits of a task's state
const SUSPENDED = 2;
const HELD = 4;
const DEVICE_PACKET = 0;
const WORK_PACKET = 1;

final class Packet
{
    public ?Packet $link = null;
    public int $to; // the destination task; after queueing, the sender
    public int $kind;
    public int $used = 0; // amount of data used by the handler
    public array $data;

    public function __construct(int $to, int $kind)
    {
        $this->to = $to;
        $this->kind = $kind;
        $this->data = array_fill(0, DATA, 0);
    }
}

/* The list of packets that starts with first, with one more appended. */
function append(?Packet $first, Packet $packet): Packet
{
    $packet->link = null;
    if ($first === null) {
        return $packet;
    }
    $last = $first;
    while ($last->link !== null) {
        $last = $last->link;
    }
    $last->link = $packet;
    return $first;
}

/* The tasks, and the running one. Tasks call the methods, which return the next task
 * to consider. */
final class System
{
    public array $tasks = [];
    public ?Task $current = null;
    public int $queued = 0;
    public int $held = 0;

    /* Hold the current task until it is released; the next one runs. */
    public function hold(): ?Task
    {
        $this->held++;
        $this->current->state |= HELD;
        return $this->current->link;
    }

    /* Suspend the current task until a packet comes. */
    public function wait(): ?Task
    {
        $this->current->state |= SUSPENDED;
        return $this->current;
    }

    /* Resume a held task; the one of higher priority runs. */
    public function release(int $id): ?Task
    {
        $task = $this->tasks[$id];
        $task->state &= ~HELD;
        return $task->priority > $this->current->priority ? $task : $this->current;
    }

    /* Send a packet to its task, which runs if it was waiting and has a higher
     * priority. */
    public function queue(Packet $packet): ?Task
    {
        $task = $this->tasks[$packet->to];
        $this->queued++;
        $packet->link = null;
        $packet->to = $this->current->id;
        if ($task->queue !== null) {
            append($task->queue, $packet);
            return $this->current;
        }
        $task->queue = $packet;
        $task->state |= RUNNABLE;
        return $task->priority > $this->current->priority ? $task : $this->current;
    }

    /* Run the highest-priority runnable task until there is none. */
    public function schedule(): void
    {
        $task = $this->tasks[count($this->tasks) - 1];
        while ($task !== null) {
            if ($task->state & HELD || $task->state === SUSPENDED) {
                $task = $task->link;
                continue;
            }
            $this->current = $task;
            $task = $task->step();
        }
    }

    /* Break the reference cycles, so that everything is freed at once and not by the
     * garbage collector in a later iteration. */
    public function close(): void
    {
        $this->tasks = [];
        $this->current = null;
    }
}

/* A task, which adds itself above the existing tasks of the system. */
abstract class Task
{
    public ?Task $link;
    public int $id;
    public int $priority;
    public int $state = SUSPENDED;
    public ?Packet $queue = null;
    protected System $system;

    public function __construct(System $system, int $number = 0, int $to = 0, int $kind = 0)
    {
        $this->system = $system;
        $this->id = count($system->tasks);
        $this->link = $system->tasks[$this->id - 1] ?? null;
        $this->priority = $this->id * 1000;
        $system->tasks[] = $this;
        for ($i = 0; $i < $number; $i++) {
            $this->queue = append($this->queue, new Packet($to, $kind));
            $this->state = SUSPENDED | RUNNABLE;
        }
    }

    /* Run with the next packet if the task was waiting for one. */
    public function step(): ?Task
    {
        $packet = null;
        if ($this->state === (SUSPENDED | RUNNABLE)) {
            $packet = $this->queue;
            $this->queue = $packet->link;
            $this->state = $this->queue !== null ? RUNNABLE : 0;
        }
        return $this->run($packet);
    }

    abstract protected function run(?Packet $packet): ?Task;
}

final class Idle extends Task
{
    private int $count; // remaining runs
    private int $choice = 1; // random bits

    public function __construct(System $system, int $count)
    {
        parent::__construct($system);
        $this->state = 0;
        $this->count = $count;
    }

    protected function run(?Packet $packet): ?Task
    {
        $bit = $this->choice & 1;
        if (--$this->count === 0) {
            return $this->system->hold();
        }
        $this->choice >>= 1;
        if (!$bit) {
            return $this->system->release(DEVICE_A);
        }
        $this->choice ^= 0xD008;
        return $this->system->release(DEVICE_B);
    }
}

final class Worker extends Task
{
    private int $count = 0; // the last letter written
    private int $choice = HANDLER_A; // the last handler served

    public function __construct(System $system)
    {
        parent::__construct($system, 2, WORKER, WORK_PACKET);
    }

    protected function run(?Packet $packet): ?Task
    {
        if ($packet === null) {
            return $this->system->wait();
        }
        $this->choice = $this->choice === HANDLER_A ? HANDLER_B : HANDLER_A;
        $packet->to = $this->choice;
        $packet->used = 0;
        for ($i = 0; $i < DATA; $i++) {
            $this->count = $this->count === LETTERS ? 1 : $this->count + 1;
            $packet->data[$i] = $this->count;
        }
        return $this->system->queue($packet);
    }
}

final class Handler extends Task
{
    private ?Packet $work = null; // waiting packets
    private ?Packet $device = null;

    public function __construct(System $system, int $to)
    {
        parent::__construct($system, 3, $to, DEVICE_PACKET);
    }

    protected function run(?Packet $packet): ?Task
    {
        if ($packet !== null) {
            if ($packet->kind === WORK_PACKET) {
                $this->work = append($this->work, $packet);
            } else {
                $this->device = append($this->device, $packet);
            }
        }
        $work = $this->work;
        if ($work === null) {
            return $this->system->wait();
        }
        if ($work->used === DATA) {
            $this->work = $work->link;
            return $this->system->queue($work);
        }
        $out = $this->device;
        if ($out === null) {
            return $this->system->wait();
        }
        $this->device = $out->link;
        $out->used = $work->data[$work->used++];
        return $this->system->queue($out);
    }
}

final class Device extends Task
{
    private ?Packet $device = null; // the current packet

    protected function run(?Packet $packet): ?Task
    {
        if ($packet !== null) {
            $this->device = $packet;
            return $this->system->hold();
        }
        $done = $this->device;
        if ($done === null) {
            return $this->system->wait();
        }
        $this->device = null;
        return $this->system->queue($done);
    }
}

function checksum($n)
{
    if ($n < 1 || $n > MOST) {
        printf("richards: parameter %d is not within 1 to %d\n", $n, MOST);
        exit(1);
    }
    $system = new System();
    new Idle($system, $n);
    new Worker($system);
    new Handler($system, DEVICE_A);
    new Handler($system, DEVICE_B);
    new Device($system);
    new Device($system);
    $system->schedule();
    $system->close();
    return $system->queued * 16777216 + $system->held;
}

/* Returns the expected checksum for n. Known ones are in the table; README.md lists
 * their origin. Checksums of other parameters are those of their first iteration. */
function expected($n, $got)
{
    static $known = [
        1000 => 38956696480,
        10000 => 390003172433,
        15000 => 586514708127,
        300000 => 11708785771126,
    ];
    return $known[$n] ??= $got;
}

function run_iter($n)
{
    $got = checksum($n);
    $want = expected($n, $got);
    if ($got != $want) {
        printf("richards: parameter %d: checksum %.17g, expected %.17g\n", $n, $got, $want);
        exit(1);
    }
}
