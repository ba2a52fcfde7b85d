import { loadConfiguration } from "../../../configuration/load.ts";
import { whyNoSession } from "../../../execution/sessions/session-name.ts";
import type { Asked } from "../../background/ask-host.ts";
import { UsageError } from "../../exit-code.ts";
import type { Surroundings } from "../../surroundings.ts";
import type { RunFlags } from "../run.ts";

/**
 * Has the background host run a program that is to run in a session: only there it can stay. Resolves with `undefined` in
 * that host itself.
 *
 * @throws UsageError where no program can run in a session.
 */
export async function askForSession(
  session: string,
  flags: RunFlags,
  surroundings: Surroundings,
): Promise<Asked | undefined> {
  const { env, shared, alone } = surroundings;
  const { ticket, suspend, host } = flags;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const refused = whyNoSession(session, configuration);
  if (refused !== undefined) throw new UsageError(`--session: ${refused}`);
  if (ticket !== undefined || suspend === true)
    throw new UsageError("a program in a session cannot be suspended; leave out --suspend and --ticket");
  if (shared !== undefined || alone?.lostRun !== undefined) return undefined;
  if (configuration.host.off || host === false || env.PTC_HOST === "off")
    throw new UsageError(
      "--session needs the background host, which is off (`host: off`, --no-host or PTC_HOST); without it nothing stays after a command",
    );
  const { askStartedHost } = await import("../../background/ask-started-host.ts");
  const asked = await askStartedHost(surroundings, flags.config);
  if (asked.kind === "done" || asked.lostRun !== undefined) return asked;
  const why = asked.why ?? "none can be started here (`CI` is set, or there is no ptc.yaml)";
  throw new UsageError(`--session needs the background host: ${why}`);
}
