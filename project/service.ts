/** ptc as it serves models, whatever carries that: `ptc serve`, and the library, are made of it. */
import { clock } from "../base/clock.ts";
import { whyNoServers } from "../configuration/configured-servers.ts";
import type { FollowedConfiguration } from "../configuration/follow.ts";
import { everyLabel, isDecidedByRun } from "../configuration/policy/configured-flow.ts";
import { whyNoSession } from "../execution/sessions/session-name.ts";
import { McpService } from "../server/mcp/service.ts";
import { openSharedFacts } from "../storage/storage.ts";
import { version } from "../system/package.ts";
import { clientViews } from "../tools/client-names.ts";
import { checkValue } from "../tools/exposed-programs.ts";
import type { Project } from "./open-project.ts";
import { openServing, type Serving, type ServingOptions } from "./serving.ts";

export interface ServiceOptions extends Omit<ServingOptions, "telemetry" | "following"> {
  following?: (ServingOptions["following"] & Pick<FollowedConfiguration, "problem">) | undefined;
  /** Whether clients are told of a configuration without servers. By default they are. */
  tellsOfNoServers?: boolean | undefined;
  /** Where questions are answered over HTTP, once that is known. */
  answerAt?: (() => string | undefined) | undefined;
  /** Whether metrics are kept for whoever reads them. */
  isScraped?: boolean | undefined;
  /** Whether other processes share what waits, so that any of them may answer the next request. */
  isOneOfMany?: boolean | undefined;
}

export interface OpenService extends Pick<Serving, "host" | "listed" | "gate"> {
  service: McpService;
  /** The metrics, as Prometheus reads them. */
  metrics: (() => Promise<string>) | undefined;
}

/** Opens ptc for many programs. Telemetry is as the environment says. @throws as `openServing` does. */
export async function openService(
  project: Project,
  { tellsOfNoServers = true, isScraped, isOneOfMany, answerAt, ...options }: ServiceOptions,
): Promise<OpenService> {
  const { following } = options;
  const telemetry = await project.openTelemetry({ isScraped });
  const { host, catalog, printers, outputs, gate, listed } = await openServing(project, {
    ...options,
    telemetry,
  });
  const service = new McpService({
    version,
    catalog,
    printers,
    runner: host,
    outputs,
    telemetry,
    clock,
    use: host.use,
    // The client has its first answers before any of what runs programs is loaded.
    onReady: () => void host.warm(),
    limits: () => project.configuration.execution,
    approvesAtClient: () => project.configuration.approvals.require === "any",
    whyNoSession: (name) => whyNoSession(name, project.configuration),
    checkValue,
    direct: () => ({
      isOneRun: project.configuration.directRuns === "conversation",
      isDecidedByRun: isDecidedByRun(project.configuration),
    }),
    labels: () => everyLabel(project.configuration),
    views: () => clientViews(project.configuration),
    facts: isOneOfMany ? openSharedFacts(project.configuration, project.env) : undefined,
    notice: () => following?.problem ?? (tellsOfNoServers ? whyNoServers(project.configuration) : undefined),
    isOneOfMany,
    answerAt,
  });
  return { host, service, listed, gate, metrics: telemetry?.scrape };
}
