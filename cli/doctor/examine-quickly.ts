import { messageOf } from "../../base/faults.ts";
import { listUpTo } from "../../base/visible-text.ts";
import { readCatalog } from "../../catalog/store/catalog-file.ts";
import { storedServers } from "../../catalog/store/stored-catalog.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { ConfigurationError } from "../../configuration/configuration-error.ts";
import type { FindOptions } from "../../configuration/configuration-paths.ts";
import { whyNoServers } from "../../configuration/configured-servers.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { generatedDirectory } from "../../generation/generated-modules.ts";
import { openState } from "../../system/state-directory.ts";
import { sandboxOptions } from "../../wiring/sandboxes.ts";
import { engineChecks } from "./engine-checks.ts";
import { type ExamineOptions, examineArchive, type Finding } from "./examine.ts";

const MAX_NAMES_CHARS = 200;

/**
 * The first thing that would keep a program from running, or from being archived, as far as that can be known without starting a sandbox or a server;
 * `undefined` when there is nothing. A folder without a configuration uses no ptc, so nothing is wrong with it.
 *
 * @throws SandboxError when the folder for this process's files cannot be made.
 */
export async function examineQuickly(
  options: FindOptions & Pick<ExamineOptions, "engine">,
): Promise<Finding | undefined> {
  let configuration: Configuration;
  try {
    configuration = await loadConfiguration(options);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return wrong("configuration", "configuration", error.message);
  }
  if (configuration.file === undefined) return undefined;
  const nothing = whyNoServers(configuration);
  if (nothing !== undefined) return wrong("configuration", "configuration", nothing);
  const missing = (await examineModules(configuration)) ?? (await examineEngine(configuration, options));
  if (missing !== undefined) return missing;
  const archive = await examineArchive(configuration);
  return archive.ok ? undefined : archive;
}

async function examineModules(configuration: Configuration): Promise<Finding | undefined> {
  try {
    const stored = await readCatalog(generatedDirectory(configuration));
    const known = new Set(stored === undefined ? [] : storedServers(stored).map(({ name }) => name));
    const unknown = configuration.servers.filter(({ name, off }) => off === undefined && !known.has(name));
    if (unknown.length === 0) return undefined;
    const names = listUpTo(
      unknown.map(({ name }) => `'${name}'`),
      MAX_NAMES_CHARS,
    );
    return wrong("servers", "modules", `the tools of ${names} are not known yet; run \`ptc generate\``);
  } catch (error) {
    return wrong("servers", "modules", messageOf(error));
  }
}

async function examineEngine(
  configuration: Configuration,
  { env, engine }: Pick<ExamineOptions, "env" | "engine">,
): Promise<Finding | undefined> {
  const own = openState(env);
  try {
    for (const [part, check] of engineChecks(sandboxOptions(configuration, own, engine))) {
      try {
        await check();
      } catch (error) {
        return wrong("sandbox", part, messageOf(error));
      }
    }
    return undefined;
  } finally {
    own.state.remove();
  }
}

function wrong(area: Finding["area"], part: string, detail: string): Finding {
  return { area, part, ok: false, detail };
}
