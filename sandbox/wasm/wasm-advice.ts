import { type EngineAdvice, WALLS, type WallName } from "../sandbox-profile.ts";

const STRONGER = "use an engine with gVisor: `sandbox.engine: docker` or `runsc` (docs/engines.md)";
const REPORT = "report this: it is a fault of ptc";

/** What to do if a wall does not hold for programs in an interpreter. */
export const WASM_ADVICE: EngineAdvice = {
  missingRuntime: "build ptc first, with `node scripts/build.ts`",
  walls: {
    ...(Object.fromEntries(Object.keys(WALLS).map((name) => [name, REPORT])) as Record<WallName, string>),
    kernel: STRONGER,
    sentry: STRONGER,
    user: STRONGER,
    capabilities: STRONGER,
    "new-privileges": STRONGER,
    processors: STRONGER,
  },
};

/** The walls of a container that programs in an interpreter do not have behind it. */
export const WASM_LACKS: Partial<Readonly<Record<WallName, string>>> = {
  kernel: "there is no kernel between the interpreter and this machine's",
  sentry: "there is no kernel of its own that could be nobody",
  user: "the process of the interpreter is your user's",
  capabilities: "the process of the interpreter has your user's rights",
  "new-privileges": "the process of the interpreter has your user's rights",
  processors: "the system limits no processors",
};
