import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findScript, runClient } from "./installed-client.ts";

/**
 * The public conformance suite, with ptc as the client: how it logs in, and how it calls tools. The suite serves the MCP server
 * and its authorization server on the loopback, and judges what it is sent.
 */

const APPLY = [
  "initialize",
  "tools_call",
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
  "auth/resource-mismatch",
  "auth/offline-access-scope",
  "auth/offline-access-not-supported",
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic",
];

/** All others, and why they do not apply. */
const DO_NOT_APPLY: Record<string, string> = {
  "auth/2025-03-26-oauth-metadata-backcompat":
    "has metadata at the root whose issuer is not the root, which RFC 8414 (section 3.3) has a client refuse",
  "auth/2025-03-26-oauth-endpoint-fallback":
    "has no metadata, without which a client does not know of PKCE and has to refuse since 2025-11-25",
  "auth/cross-app-access-complete-flow":
    "logs in by an identity provider of an enterprise, which ptc does not",
  "elicitation-sep1034-client-defaults":
    "has the client answer by itself; ptc puts every question to a person",
  "sse-retry":
    "wants a stream reopened after half a second; ptc waits a second at least, whatever a server asks for",
};

const found = findScript("@modelcontextprotocol/conformance", "conformance");
const conformance = typeof found === "string" ? expect.fail(found) : found;
const client = `${process.execPath} ${join(import.meta.dirname, "processes/conformance-client-process.ts")}`;

/** What Node.js has compiled for one client serves the next. */
const cache = mkdtempSync(join(tmpdir(), "ptc-conformance-cache-"));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

// Each scenario waits for two processes to start, and for little else.
describe.concurrent("the conformance suite, with ptc as the client", () => {
  test("has no scenario that has not been looked at", async () => {
    const { stdout } = await runClient(conformance, ["list", "--client"], { cwd: import.meta.dirname });
    const scenarios = [...stdout.matchAll(/^ +- (\S+)/gm)].map(([, name]) => name);
    expect(scenarios.sort()).toEqual([...APPLY, ...Object.keys(DO_NOT_APPLY)].sort());
  });

  test.for(APPLY)("passes its scenario %s", async (scenario) => {
    const args = ["client", "--command", client, "--scenario", scenario, "--timeout", "80000"];
    const env = { NODE_COMPILE_CACHE: cache };
    const { code, stderr } = await runClient(conformance, args, { cwd: import.meta.dirname, env });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/Passed: (\d+)\/\1, 0 failed/),
    });
  });
});
