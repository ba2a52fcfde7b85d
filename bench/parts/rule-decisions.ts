import { Rules } from "../../broker/policy/cedar/cedar-rules.ts";
import { DataFlow } from "../../broker/policy/data-flow.ts";
import { type Figure, percentile } from "../measurement.ts";

const TOOLS = 50;
const RULES = 1_000;
const DECISIONS = 1_000;
const WARM_UP = 200;
/** Each decision is made several times, because the machine also does other work. */
const ROUNDS = 5;

/** Every fiftieth rule is about the same tool; each looks at the caller, the arguments, and what the run has read. */
function ruleOf(index: number): string {
  const effect = index % 2 === 0 ? "permit" : "forbid";
  const condition = `context.run.labels.contains("l${index}") || (context.arguments.hasTag("to") && context.arguments.getTag("to") like "*@${index}")`;
  return `@id("r${index}") ${effect}(principal, action == Action::"call", resource == Tool::"mcp__s__t${index % TOOLS}") when { ${condition} };`;
}

/** How long a decision takes with 1,000 parsed rules, of which 20 can apply, with a different call each. */
export async function measureRules(): Promise<Figure[]> {
  const text = Array.from({ length: RULES }, (_, index) => ruleOf(index)).join("\n");
  const flow = new DataFlow(new Map([["s", { labels: ["l0", "l50"], tools: {} }]]));
  const { rules } = await Rules.open({ files: [{ file: "rules.cedar", text }], groups: {}, flow });
  const times: number[] = [];
  for (let index = 0; index < DECISIONS; index++) {
    const name = `t${index % TOOLS}`;
    const call = {
      context: { principal: "local", source: "run" },
      tool: { namespacedName: `mcp__s__${name}`, server: "s", name },
      arguments: { to: `ada@${index}`, subject: "hello", copies: index },
      run: { calls: index, callsOfTool: 1, reads: [{ seq: 1, tool: "mcp__s__t1", server: "s", name: "t1" }] },
      nowMs: index,
    } as const;
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < ROUNDS; i++) best = Math.min(best, await timeOf(() => rules.decide(call)));
    times.push(best);
  }
  // The first decisions about each tool parse its rules, and the engine is compiled well only after many.
  const warm = times.slice(WARM_UP);
  return [
    {
      name: `decide by ${RULES} rules of which ${RULES / TOOLS} can apply, p95`,
      value: percentile(warm, 0.95),
      unit: "ms",
      bound: { atMost: 0.5 },
    },
  ];
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
