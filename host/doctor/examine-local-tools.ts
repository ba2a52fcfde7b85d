import { whyNoProgram } from "../../upstream/local/find-program.ts";
import { isOwnVariable, variablesOf } from "../../upstream/local/local-tool.ts";
import { inheritedEnvironment } from "../../upstream/mcp/stdio/inherited-environment.ts";
import { SecretSourceError } from "../../upstream/secret-sources/secret-source.ts";
import type { SecretSources } from "../../upstream/secret-sources/secret-sources.ts";
import type { LocalServerConfiguration, ServerConfiguration } from "../configuration/configuration.ts";

/** Why a tool of `tools.local` cannot be called. */
export interface LocalToolProblem {
  tool: string;
  problem: string;
}

/** Looks whether the commands of local tools are there and whether their secrets can be read. Runs none of them. */
export async function examineLocalTools(
  servers: readonly ServerConfiguration[],
  sources: Pick<SecretSources, "read">,
): Promise<LocalToolProblem[]> {
  const locals = servers.flatMap((server) => (server.transport === "local" ? [server] : []));
  const found = await Promise.all(
    locals.flatMap((server) => server.localTools.map((tool) => examineTool(server, tool, sources))),
  );
  return found.flat();
}

async function examineTool(
  { env, secretSources }: LocalServerConfiguration,
  tool: LocalServerConfiguration["localTools"][number],
  sources: Pick<SecretSources, "read">,
): Promise<LocalToolProblem[]> {
  if (tool.off !== undefined) return [{ tool: tool.name, problem: `is off: ${tool.off}` }];
  const { PATH } = { ...inheritedEnvironment(), ...variablesOf(tool.name, env) };
  const own = Object.entries(secretSources).filter(([key]) => isOwnVariable(tool.name, key));
  const problems = await Promise.all([
    whyNoProgram(tool, PATH),
    ...own.map(async ([, source]) => {
      try {
        await sources.read(source, new AbortController().signal);
        return undefined;
      } catch (error) {
        if (error instanceof SecretSourceError) return `${source.place}: ${error.message}`;
        throw error;
      }
    }),
  ]);
  return problems.flatMap((problem) => (problem === undefined ? [] : [{ tool: tool.name, problem }]));
}
