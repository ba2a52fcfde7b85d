import { AsyncLocalStorage } from "node:async_hooks";

/**
 * The last resort against uncaught faults. Each run and each server has a boundary around all its work, so that an uncaught fault
 * ends only that run or server. A fault outside every boundary is reported, and the process continues.
 */

/** Ends the run or the server in which a fault happened. Returns false when it has already ended. Must not throw. */
export type FaultHandler = (fault: unknown) => boolean;

interface Boundary {
  onFault: FaultHandler;
}

const boundaries = new AsyncLocalStorage<Boundary | undefined>();

/** Does work inside a boundary. Listeners, timers and promises that the work starts belong to the boundary too. */
export function withinBoundary<T>(onFault: FaultHandler, work: () => T): T {
  return boundaries.run({ onFault }, work);
}

/**
 * Does work inside a new boundary that ends with the work.
 *
 * @param work gets a signal, which the first uncaught fault aborts. The fault is the signal's reason.
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

/** Does work that outlives the run or server that needs it first, such as starting a shared resource. */
export function outsideBoundaries<T>(work: () => T): T {
  return boundaries.run(undefined, work);
}

/**
 * Binds a listener to the current boundary, and to the rest of the asynchronous context, which may hold the caller's request or
 * trace. A stream that was opened outside needs this, because its events come from outside too. An example is the stream of a sandbox
 * that started before its program was known.
 */
export function inBoundary<Args extends unknown[]>(
  listener: (...args: Args) => void,
): (...args: Args) => void {
  const boundary = boundaries.getStore();
  if (boundary === undefined) return listener;
  const inContext = AsyncLocalStorage.snapshot();
  return (...args) => {
    try {
      inContext(listener, ...args);
    } catch (fault) {
      if (!boundary.onFault(fault)) throw fault;
    }
  };
}

/** An emitter of uncaught faults, such as `process`. */
interface FaultSource {
  on(event: "uncaughtException" | "unhandledRejection", listener: (fault: unknown) => void): unknown;
  off(event: "uncaughtException" | "unhandledRejection", listener: (fault: unknown) => void): unknown;
}

/**
 * Routes each uncaught fault to the boundary in which it happens.
 *
 * @param onStray gets faults outside every boundary, and those for which the boundary's handler returns false.
 * @returns a function that removes the listeners.
 */
export function installLastResort(source: FaultSource, onStray: (fault: unknown) => void): () => void {
  const take = (fault: unknown) => {
    const boundary = boundaries.getStore();
    // Work that this listener starts does not belong to the boundary in which the fault happened.
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

/** Describes a thrown value: the message of an error, or any other value as text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
