/** A kind of program in a soak: what it is and what must become of it. */
export interface SoakKind {
  name: string;
  code: string;
  /** Calls that it makes, with ids `<data.id>/<number>`. */
  calls: number;
  timeoutSeconds?: number;
  cancelAfterMs?: number;
  /** The type of its failure; without it, the program succeeds. A cancelled one gets no reply. */
  failure?: string;
}

const NOTES = "for (let i = 0; i < 5; i++) await mcp__counter__note({ id: data.id + '/' + i });";

const trivial: SoakKind = { name: "trivial", code: "globalThis.result = data.id;", calls: 0 };
const calls: SoakKind = { name: "calls", code: `${NOTES} globalThis.result = 5;`, calls: 5 };
const failing: SoakKind = {
  name: "failing",
  code: `${NOTES} throw new Error("as it should");`,
  calls: 5,
  failure: "ScriptError",
};
/** The kind that ptc holds most memory for. */
export const LARGEST: SoakKind = {
  name: "big output",
  code: 'for (let i = 0; i < 2_000; i++) console.log(i, "x".repeat(1_000));',
  calls: 0,
};
const timeout: SoakKind = {
  name: "timeout",
  code: "for (;;) {}",
  calls: 0,
  timeoutSeconds: 1,
  failure: "Timeout",
};
const cancelled: SoakKind = {
  name: "cancelled",
  code: "await new Promise((resolve) => setTimeout(resolve, 600_000));",
  calls: 0,
  cancelAfterMs: 1_500,
};
const memory: SoakKind = {
  name: "memory",
  code: "const held = []; for (;;) held.push(Buffer.alloc(16_000_000, 1));",
  calls: 0,
  failure: "OutOfMemory",
};

/** The kind of each program of a soak, in turn. */
export const KINDS: readonly SoakKind[] = [
  trivial,
  calls,
  failing,
  trivial,
  LARGEST,
  calls,
  timeout,
  trivial,
  cancelled,
  calls,
  trivial,
  memory,
  calls,
  trivial,
  trivial,
  calls,
];

/** A program that is there for some seconds, and calls before and after. */
export const LASTING: SoakKind = {
  name: "lasting",
  code: `await mcp__counter__note({ id: data.id + "/0" });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await mcp__counter__note({ id: data.id + "/1" });
    globalThis.result = data.id;`,
  calls: 2,
};

/** A program whose call is under way until its server ends. */
export const HOLDING: SoakKind = {
  name: "holding",
  code: 'await mcp__counter__hold({ id: data.id + "/0" });',
  calls: 1,
  failure: "ToolError",
};
