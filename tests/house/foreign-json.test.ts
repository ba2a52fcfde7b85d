import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

/** The folders through which values of programs, servers and people go on the host. */
const FOLDERS =
  "{archive,broker,catalog,cli,console,execution,generation,library,notify,programs,protocol,server,project,tools,upstream}";

/** Files whose JSON has no numbers of others. */
const MAY_PARSE: Readonly<Record<string, string>> = {
  "archive/postgres/postgres-counters.ts": "counts that ptc keeps",
  "archive/postgres/postgres-facts.ts": "texts by name",
  "broker/flow/schema-choices.ts": "a name in a path of ptc",
  "broker/schemas/schema-worker.ts": "the bounds of a check",
  "catalog/learned/shape.ts": "only whether a text is JSON",
  "catalog/schema-members.ts": "a name in a path of ptc.yaml",
  "cli/front.ts": "what the build has written",
  "project/result-files.ts": "a text in quotes",
  "execution/output/whole-output.ts": "a text in quotes",
  "notify/slack.ts": "a button of a message of ptc",
  "server/http/mcp-sessions.ts": "the hello of a client",
  "server/http/sealed-state.ts": "a text and a time of ptc",
  "server/mcp/shared-conversations.ts": "facts of texts",
  "upstream/authorization/oauth/caller-token.ts": "the claims of a token",
  "upstream/authorization/oauth/machine-token.ts": "a key",
  "upstream/authorization/guarded-fetch.ts": "times and texts of OAuth",
  "upstream/functions/function-connection.ts": "a definition of this process",
  "upstream/mcp/session-end.ts": "the text of a refusal",
  "upstream/openapi/preparation.ts": "a failure, and settings of ptc",
  "upstream/openapi/preparing-process.ts": "settings of ptc",
};

test("JSON of others is parsed by base/json.ts, which keeps all digits of whole numbers", () => {
  const parsing = globSync(`${FOLDERS}/**/*.ts`, { cwd: root })
    .filter((file) => /\bJSON\.parse\(/.test(readFileSync(join(root, file), "utf8")))
    .sort();
  expect(parsing).toEqual(Object.keys(MAY_PARSE).sort());
});
