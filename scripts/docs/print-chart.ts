import { RUNNER_STARTS } from "../../languages/languages.ts";
import type { RunnerName } from "../../protocol/runners.ts";
import { programPodSpec } from "../../sandbox/kubernetes/program-pod.ts";

const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };
const OTHER_LIMITS = { memoryMb: 300, cpus: 3, pids: 100 };

/** What stands for the number in an argument. */
const PLACEHOLDERS: readonly [named: string, placeholder: string][] = [
  ["nproc", "$TASKS"],
  ["v8-pool-size", "$V8_POOL"],
  ["max-old-space-size", "$HEAP_MB"],
  ["memory-mb", "$HEAP_MB"],
];

/**
 * The pods of programs for the chart: the specification of each runner's, in which `$TASKS`, `$HEAP_MB` and `$V8_POOL` stand for what
 * depends on the limits. The chart's templates/programs.yaml puts in what the values say.
 */
export function printChart(): string {
  const made = Object.fromEntries(
    (Object.keys(RUNNER_STARTS) as RunnerName[]).map((runner) => [runner, podOf(runner)]),
  );
  return `# Made from sandbox/kubernetes/program-pod.ts: node scripts/docs.ts\n${JSON.stringify(made, undefined, 2)}\n`;
}

function podOf(runner: RunnerName): object {
  const about = { image: "", runtimeClass: "", start: RUNNER_STARTS[runner], certificates: "" };
  const spec = programPodSpec({ ...about, limits: LIMITS });
  const other = programPodSpec({ ...about, limits: OTHER_LIMITS }).containers[0]?.command ?? [];
  for (const container of spec.containers)
    container.command = container.command.map((argument, index) => {
      if (argument === other[index]) return argument;
      const placeholder = PLACEHOLDERS.find(([named]) => argument.includes(named))?.[1];
      if (placeholder === undefined) throw new Error(`the chart has no value for ${argument}`);
      return argument.replace(/\d+$/, () => placeholder);
    });
  return spec;
}
