import { AsyncLocalStorage } from "node:async_hooks";

/**
 * The last resort against faults that nobody catches: each run and each server has a boundary around all that is done for it, so
 * that such a fault ends it alone. A fault outside any boundary is reported, and the process continues.
 */

/** Ends the run or the server in which a fault has happened; returns false when that has ended already. Must not throw. */
export type FaultHandler = (fault: unknown) => boolean;

interface Boundary {
  onFault: FaultHandler;
}

const boundaries = new AsyncLocalStorage<Boundary | undefined>();

/** Does something inside of a boundary, with all that it starts: listeners, timers, promises. */
export function withinBoundary<T>(onFault: FaultHandler, work: () => T): T {
  return boundaries.run({ onFault }, work);
}

/**
 * Does work inside a new boundary, which ends with the work.
 *
 * @param work gets a signal that the first fault that nobody catches aborts, with the fault as its reason.
 */
export function withinOwnBoundary<T>(work: (faulted: AbortSignal) => Promise<T>): Promise<T> {
  const faulted = new AbortController();
  let isOver = false;
  return withinBoundary(
    (fault) => {
      faulted.abort(fault);
      return !isOver;
    },
    () =>
      work(faulted.signal).finally(() => {
        isOver = true;
      }),
  );
}

/** Does work that outlives the run or the server that is the first to need it, such as starting what several share. */
export function outsideBoundaries<T>(work: () => T): T {
  return boundaries.run(undefined, work);
}

/**
 * Binds a listener to the boundary in which it is made. A stream that was opened outside of the boundary needs this, such as
 * that of a sandbox which has waited for its program: its events come from outside too.
 */
export function inBoundary<Args extends unknown[]>(
  listener: (...args: Args) => void,
): (...args: Args) => void {
  const boundary = boundaries.getStore();
  if (boundary === undefined) return listener;
  return (...args) => {
    try {
      boundaries.run(boundary, () => listener(...args));
    } catch (fault) {
      if (!boundary.onFault(fault)) throw fault;
    }
  };
}

/** What emits the faults that nobody has caught: a `process`. */
interface FaultSource {
  on(event: "uncaughtException" | "unhandledRejection", listener: (fault: unknown) => void): unknown;
  off(event: "uncaughtException" | "unhandledRejection", listener: (fault: unknown) => void): unknown;
}

/**
 * Leads faults that nobody catches to the boundary in which they happen.
 *
 * @param onStray gets the faults of no boundary, and those for which a boundary's handler returns false.
 * @returns a function that undoes it.
 */
export function installLastResort(source: FaultSource, onStray: (fault: unknown) => void): () => void {
  const take = (fault: unknown) => {
    const boundary = boundaries.getStore();
    // What this listener starts is not work of the boundary in which the fault happened.
    boundaries.enterWith(undefined);
    if (boundary?.onFault(fault) !== true) onStray(fault);
  };
  source.on("uncaughtException", take);
  source.on("unhandledRejection", take);
  return () => {
    source.off("uncaughtException", take);
    source.off("unhandledRejection", take);
  };
}

/** What was thrown, in words: the message of an error, and any other value as text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
