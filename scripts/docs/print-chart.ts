import { RUNNER_STARTS } from "../../languages/languages.ts";
import type { RunnerName } from "../../protocol/runners.ts";
import { programPodSpec } from "../../sandbox/kubernetes/program-pod.ts";

const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };
const OTHER_LIMITS = { memoryMb: 300, cpus: 1, pids: 100 };

/**
 * The pods of programs for the chart: the specification of each runner's, in which `$TASKS` and `$HEAP_MB` stand for what depends on
 * the limits. The chart's templates/programs.yaml puts in what the values say.
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
      return argument.replace(/\d+$/, argument.includes("nproc") ? "$$TASKS" : "$$HEAP_MB");
    });
  return spec;
}
