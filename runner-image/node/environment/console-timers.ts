import { type ProgramClock, TICKS_PER_MS } from "./program-clock.ts";

interface ConsoleTimers {
  time(label?: unknown): void;
  timeLog(label?: unknown, ...data: unknown[]): void;
  timeEnd(label?: unknown): void;
}

/** `console.time` and its companions on the program's clock: what they print is the program's output. */
export function makeConsoleTimers(
  clock: Pick<ProgramClock, "elapsedTicks">,
  print: (...data: unknown[]) => void,
): ConsoleTimers {
  const started = new Map<string, number>();

  function show(method: string, label: string, data: unknown[]): boolean {
    const start = started.get(label);
    if (start === undefined) {
      process.emitWarning(`No such label '${label}' for console.${method}()`);
      return false;
    }
    print("%s: %s", label, formatDuration((clock.elapsedTicks() - start) / TICKS_PER_MS), ...data);
    return true;
  }

  return {
    time(label = "default") {
      const name = String(label);
      if (started.has(name)) process.emitWarning(`Label '${name}' already exists for console.time()`);
      else started.set(name, clock.elapsedTicks());
    },
    timeLog(label = "default", ...data) {
      show("timeLog", String(label), data);
    },
    timeEnd(label = "default") {
      if (show("timeEnd", String(label), [])) started.delete(String(label));
    },
  };
}

function formatDuration(ms: number): string {
  return ms < 1_000 ? `${Number(ms.toFixed(3))}ms` : `${(ms / 1_000).toFixed(3)}s`;
}
