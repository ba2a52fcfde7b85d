import { CONSOLE_ROUTES, requestsFor } from "./console-routes.ts";
import { PARSERS } from "./parsers.ts";
import { runsOfWorstValues } from "./run-values.ts";
import { sharedServers } from "./servers.ts";

export interface LoopTarget {
  name: string;
  operations: () => Promise<readonly { what: string; work: () => unknown }[]>;
  /** A bound of its own, in milliseconds, for what is done in one turn whatever one does. */
  exemptMs?: number;
}

/**
 * What one turn takes longer for: `JSON.parse` of one message, which V8 does in one go. An object of very many members costs it most, a
 * millisecond for about a thousand. The bound on values (250,000) keeps one message below this, on a processor that is not shared. No
 * thread could do it for this one, which would have to take the value over as long.
 */
const ONE_MESSAGE_MS = 300;
const EXEMPT: ReadonlySet<string> = new Set([
  "client-messages",
  "frames",
  "json",
  "tool-results",
  "MCP with any body",
]);

const exempt = (name: string) => (EXEMPT.has(name) ? { exemptMs: ONE_MESSAGE_MS } : {});

export const LOOP_TARGETS: readonly LoopTarget[] = [
  ...Object.entries(PARSERS).flatMap(([name, parser]) =>
    "elsewhere" in parser
      ? []
      : [{ name: `the parser of ${name}`, operations: async () => parser.operations(), ...exempt(name) }],
  ),
  {
    name: "the pages and forms of the console",
    operations: async () => {
      const { console, session, run, ticket } = await sharedServers();
      return Object.entries(CONSOLE_ROUTES).flatMap(([route, entry]) => {
        const path = Object.fromEntries(
          Object.entries(entry.path ?? {}).map(([name, value]) => [
            name,
            value === "RUN" ? run : value === "TICKET" ? ticket : value,
          ]),
        );
        return requestsFor(route, { ...entry, path }, session).map(({ what, request }) => ({
          what: `${route} with ${what}`,
          work: async () => console.fetch(request()),
        }));
      });
    },
  },
  // A call is written for its server, and some of a value is looked at, in one turn still.
  { name: "calls and results of programs", operations: runsOfWorstValues, exemptMs: ONE_MESSAGE_MS },
  {
    name: "what is read over HTTP beside MCP",
    operations: async () =>
      Object.entries((await sharedServers()).asked.records).flatMap(([route, sent]) =>
        sent.map(({ what, work }) => ({ what: `${route} with ${what}`, work })),
      ),
  },
  {
    name: "the tools that models call",
    operations: async () =>
      Object.entries((await sharedServers()).asked.tools).flatMap(([tool, sent]) =>
        sent.map(({ what, work }) => ({ what: `${tool} with ${what}`, work })),
      ),
  },
  {
    name: "MCP with any body",
    operations: async () => (await sharedServers()).asked.raw,
    ...exempt("MCP with any body"),
  },
];
