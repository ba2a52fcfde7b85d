/** A part of a run that takes time of its own. Parts may overlap: a sandbox is had while the program is bundled. */
export type RunPhase = "bundle" | "type_check" | "sandbox_wait" | "program";

/** Is told when a part of a run begins. What it returns is called once, when that part has ended. Neither throws. */
export type OnPhase = (phase: RunPhase) => () => void;

/** Tells of a part of a run around work. Without a listener nothing is done but the work. */
export function duringPhase<T>(
  onPhase: OnPhase | undefined,
  phase: RunPhase,
  work: () => Promise<T>,
): Promise<T> {
  if (onPhase === undefined) return work();
  const end = onPhase(phase);
  return work().finally(end);
}
