import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProgramClock } from "../../../../runner-image/node/environment/program-clock.ts";

const STARTED_MS = 1_700_000_000_000;
const MAX_LOG_BYTES = 192 * 1024;

function startClock(
  replay?: { started_ms: number; clock: string; resumes?: true },
  maxLogBytes = MAX_LOG_BYTES,
) {
  const real = { ms: 5_000.123 };
  const clock = new ProgramClock(() => real.ms, maxLogBytes);
  clock.start(STARTED_MS, replay);
  return { clock, real };
}

const read = (clock: ProgramClock, date: boolean) => (date ? clock.nowMs() : clock.elapsedTicks());
const steps = fc.array(fc.tuple(fc.double({ min: 0, max: 5_000, noNaN: true }), fc.boolean()), {
  maxLength: 500,
});

describe("the clock of a program", () => {
  it("starts when the program does and tells hundredths of a millisecond", () => {
    const { clock, real } = startClock();
    expect([clock.nowMs(), clock.elapsedTicks()]).toEqual([STARTED_MS, 0]);
    real.ms += 1_234.567;
    expect([clock.nowMs(), clock.elapsedTicks()]).toEqual([STARTED_MS + 1_234, 123_456]);
  });

  it("gives a replay the same readings, whatever the time, and logs the same", () => {
    fc.assert(
      fc.property(steps, steps, (pauses, otherPauses) => {
        const live = startClock();
        const readings = pauses.map(([pause, date]) => {
          live.real.ms += pause;
          return read(live.clock, date);
        });
        const log = live.clock.log.toString();
        const again = startClock({ started_ms: live.clock.startedMs, clock: log });
        const replayed = pauses.map(([, date], index) => {
          again.real.ms += otherPauses[index]?.[0] ?? 0;
          return read(again.clock, date);
        });
        expect(replayed).toEqual(readings);
        expect(again.clock.log.toString()).toBe(log);
      }),
    );
  });

  it("never goes back", () => {
    fc.assert(
      fc.property(steps, (pauses) => {
        const { clock, real } = startClock();
        let last = 0;
        for (const [pause, date] of pauses) {
          real.ms += pause;
          const ticks = date ? (clock.nowMs() - STARTED_MS) * 100 : clock.elapsedTicks();
          expect(ticks).toBeGreaterThanOrEqual(date ? last - (last % 100) : last);
          last = Math.max(last, ticks);
        }
      }),
    );
  });

  it("goes on from the last reading when the log has no more", () => {
    const live = startClock();
    live.real.ms += 700;
    live.clock.nowMs();
    const log = { started_ms: 1_000, clock: live.clock.log.toString() };
    const { clock, real } = startClock(log);
    real.ms += 60_000;
    expect(clock.nowMs()).toBe(1_700);
    real.ms += 60_000;
    expect(clock.nowMs()).toBe(1_700);
    real.ms += 25;
    expect(clock.nowMs()).toBe(1_725);
  });

  it("goes on from the present where a run is resumed, when the log has no more", () => {
    const live = startClock();
    live.real.ms += 700;
    live.clock.nowMs();
    const earlier = {
      started_ms: STARTED_MS - 60_000,
      clock: live.clock.log.toString(),
      resumes: true,
    } as const;
    const { clock, real } = startClock(earlier);
    expect(clock.nowMs()).toBe(STARTED_MS - 59_300);
    real.ms += 25;
    expect(clock.nowMs()).toBe(STARTED_MS + 25);
  });

  it("goes on from the start when the log is empty", () => {
    const { clock, real } = startClock({ started_ms: 1_000, clock: "" });
    clock.nowMs();
    real.ms += 25;
    expect(clock.nowMs()).toBe(1_025);
  });

  it("logs an hour of reading without a pause, ever more coarsely", () => {
    const { clock, real } = startClock();
    let worst = 0;
    for (let elapsed = 0; elapsed < 3_600_000; elapsed += 0.1 + elapsed / 10_000) {
      real.ms = 5_000.123 + elapsed;
      worst = Math.max(worst, (elapsed - clock.elapsedTicks() / 100) / (elapsed + 1_000));
    }
    expect([clock.log.full, clock.log.byteLength > 64 * 1024]).toEqual([false, true]);
    expect(worst).toBeLessThan(1 / 500);
  });

  it("runs on when its log is full", () => {
    const { clock, real } = startClock(undefined, 64);
    for (let i = 1; i < 1_000; i++) {
      real.ms += i;
      clock.elapsedTicks();
    }
    expect(clock.log.full).toBe(true);
    expect(clock.elapsedTicks()).toBe(49_950_000);
  });
});
