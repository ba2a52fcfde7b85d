import type { DamagedRun } from "../../../archive/damaged-run.ts";
import { countNoun } from "../../../base/quantities.ts";
import { oneLine } from "../../../base/visible-text.ts";
import { type Surroundings, write } from "../../surroundings.ts";

const MAX_NAMED = 20;

/** Names the damaged runs that were left out, and says what can be done about them. */
export async function tellDamaged(
  damaged: readonly DamagedRun[],
  { stderr }: Pick<Surroundings, "stderr">,
): Promise<void> {
  if (damaged.length === 0) return;
  for (const { message } of damaged.slice(0, MAX_NAMED)) await write(stderr, `ptc: ${oneLine(message)}\n`);
  await write(
    stderr,
    `ptc: ${countNoun(damaged.length, "run")} left out; \`ptc runs prune RUN\` deletes one, \`ptc runs verify\` checks all\n`,
  );
}
