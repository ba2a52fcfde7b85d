import { request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { listen } from "../upstream/mcp/upstream-http-servers.ts";
import { CONFORMANCE_PROGRAMS } from "./conformance-programs.ts";
import { connectStateless, serveHttp } from "./http-clients.ts";
import { describeClient, findScript, runClient } from "./installed-client.ts";
import { useServedProject } from "./served-project.ts";

/**
 * The public conformance suite over HTTP, in both eras. Which of its scenarios do not apply, and why, is in `conformance.real.test.ts`:
 * they are about resources, prompts and tools that ptc does not have.
 */

const served = useServedProject();

/** Those that are about what is in an answer. The suite's tools are programs, so a proxy makes calls of them such of `execute_program`. */
const CALLS = ["tools-call-simple-text", "tools-call-error", "tools-call-with-progress"];
/** Those that are about HTTP and the protocol, which reach ptc as they are. */
const DIRECT = ["tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"];

const SUITES = [
  {
    ...{ era: "2025-11-25", packageName: "@modelcontextprotocol/conformance", flags: [] },
    ...{ direct: [...DIRECT, "server-initialize", "ping"], calls: [...CALLS, "tools-call-elicitation"] },
  },
  {
    ...{ era: "2026-07-28", packageName: "conformance-2026", flags: ["--spec-version", "2026-07-28"] },
    ...{ direct: [...DIRECT, "http-header-validation"], calls: CALLS },
  },
];

/**
 * Calls that stand for those of tools of the suite which say nothing about programs: one that needs its person asked, and one that a
 * server may be tempted to log. They are answered without a sandbox, because the suite reads half a second of their streams.
 */
const SINGLE_CALLS: Record<string, { name: string; arguments: object }> = {
  test_streaming_elicitation: {
    ...{ name: "mcp__my_documents__delete_document", arguments: { documentId: "a" } },
  },
  test_logging_tool: { name: "mcp__my_documents__list_documents", arguments: {} },
};

/** Passes requests on, and makes calls of the suite's tools such of programs and tools that do what these should. */
async function rewriteTo(target: URL): Promise<string> {
  return listen(async (incoming, outgoing) => {
    const { headers } = incoming;
    let body = await text(incoming);
    let tool = headers["mcp-name"];
    if (body !== "") {
      const message = JSON.parse(body);
      const named = message.method === "tools/call" ? message.params?.name : undefined;
      const code = CONFORMANCE_PROGRAMS[named];
      const call =
        code === undefined ? SINGLE_CALLS[named] : { name: "execute_program", arguments: { code } };
      if (call !== undefined) {
        message.params = { ...message.params, ...call };
        body = JSON.stringify(message);
        tool = tool && call.name;
      }
    }
    const passed = request(target, {
      method: incoming.method ?? "GET",
      headers: {
        ...headers,
        ...(tool === undefined ? {} : { "mcp-name": tool }),
        host: target.host,
        ...(body === "" ? {} : { "content-length": Buffer.byteLength(body) }),
      },
    });
    passed.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    passed.end(body);
  });
}

for (const { era, packageName, flags, direct, calls } of SUITES)
  describeClient(
    `the conformance suite over HTTP, at ${era}`,
    () => findScript(packageName, "conformance"),
    (conformance) => {
      test.for([...direct, ...calls])("passes its scenario %s", async (scenario) => {
        const { folder, home } = served();
        const { url } = await serveHttp(folder);
        const reached = calls.includes(scenario) ? `${await rewriteTo(url)}/mcp` : url.href;
        const args = ["server", "--url", reached, "--scenario", scenario, ...flags];
        const { code, stdout } = await runClient(conformance, args, { cwd: home });
        expect({ code, stdout }).toEqual({
          code: 0,
          stdout: expect.stringMatching(/Passed: (\d+)\/\1, 0 failed/),
        });
      });
    },
  );

/**
 * Two checks of the suite are about a tool that needs what its client has not declared. ptc has none: a call that nobody can be
 * asked about is denied, and the program goes on with that.
 */
const UNTESTABLE = "test_missing_capability";

describeClient(
  "the conformance suite over HTTP, without sessions",
  () => findScript("conformance-2026", "conformance"),
  (conformance) => {
    // The suite waits for the answer to a call for half a second.
    test("passes its scenario server-stateless but for what is about a tool that ptc has not", {
      retry: 3,
    }, async () => {
      const { folder, home } = served();
      const { url } = await serveHttp(folder);
      // So that the tools' server has started.
      const { name, arguments: given } = SINGLE_CALLS.test_logging_tool ?? expect.fail();
      await (await connectStateless(url)).call(name, { ...given });
      const args = ["server", "--url", `${await rewriteTo(url)}/mcp`, "--scenario", "server-stateless"];
      const { stdout } = await runClient(conformance, [...args, "--spec-version", "2026-07-28"], {
        cwd: home,
      });
      const [, passed, all] = /Passed: (\d+)\/(\d+)/.exec(stdout) ?? [];
      const errors = [...stdout.matchAll(/^ +Error: (.*)$/gm)].map(([, error]) => error);
      expect({ passed: Number(passed) + errors.length, errors }).toEqual({
        passed: Number(all),
        errors: [expect.stringContaining(UNTESTABLE), expect.stringContaining(UNTESTABLE)],
      });
    });
  },
);
