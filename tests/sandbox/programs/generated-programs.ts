import type { FailureType } from "../../../protocol/failure.ts";
import { Random } from "../../fuzz/random.ts";
import { PRELUDE } from "./hostile-texts.ts";
import { TRICKS } from "./hostile-tricks.ts";

export interface GeneratedProgram {
  code: string;
  tricks: string[];
  /** What may become of it. */
  outcomes: ReadonlySet<"ok" | FailureType>;
}

/** Any program may end so, on a machine that is busy enough. */
const ALWAYS = ["ok", "ScriptError", "Timeout"] as const;

/** A hostile program that a seed decides: a few tricks in random order, each at once, later, or where nobody looks. */
export function generateProgram(seed: number): GeneratedProgram {
  const random = new Random("program", seed);
  const chosen = random.list(random.between(1, 4), () => random.pick(TRICKS));
  const statements = chosen.map((trick) => place(random, `/* ${trick.name} */ ${trick.code(random)}`));
  return {
    code: [PRELUDE, ...statements].join("\n"),
    tricks: chosen.map(({ name }) => name),
    outcomes: new Set([...ALWAYS, ...chosen.flatMap(({ allows }) => allows)]),
  };
}

function place(random: Random, code: string): string {
  switch (random.below(10)) {
    case 0:
      return `keep.setTimeout(async () => { ${code}\n}, ${random.below(60)});`;
    case 1:
      return `queueMicrotask(async () => { ${code}\n});`;
    case 2:
      return `void (async () => { await null; ${code}\n})();`;
    case 3:
      return `await sleep(${random.below(30)}); { ${code}\n}`;
    case 4:
    case 5:
      return `{ ${code}\n}`;
    default:
      return `try { ${code}\n} catch {}`;
  }
}
