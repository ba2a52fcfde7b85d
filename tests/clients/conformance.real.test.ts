import { expect, test } from "vitest";
import { listen } from "../upstream/mcp/upstream-http-servers.ts";
import { CONFORMANCE_PROGRAMS } from "./conformance-programs.ts";
import { bridgeToStdio } from "./http-bridge.ts";
import { describeClient, findScript, runClient } from "./installed-client.ts";
import { useServedProject } from "./served-project.ts";

const served = useServedProject();

/** The scenarios that concern tools and apply: they must pass. */
const APPLY = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-error",
  "tools-call-with-progress",
  "tools-call-elicitation",
];

const TEXT_ONLY = "a program's reply is text: a model gets what the program prints";
const NO_LOGGING = "ptc has no logging capability: it says nothing but progress while a program runs";
const FORMS = "asks for a form of the suite's own; ptc's one form is the approval, in tools-call-elicitation";
const STDIO =
  "is about HTTP, and tried there (`conformance-http.real.test.ts`); what would be tested here is the bridge";
const NO_RESOURCES = "ptc has no resources";
const NO_PROMPTS = "ptc has no prompts";

/** All others, and why they do not apply. */
const DO_NOT_APPLY: Record<string, string> = {
  "logging-set-level": NO_LOGGING,
  "completion-complete": "completes arguments of prompts and resources, of which ptc has none",
  "tools-call-image": TEXT_ONLY,
  "tools-call-audio": TEXT_ONLY,
  "tools-call-embedded-resource": TEXT_ONLY,
  "tools-call-mixed-content": TEXT_ONLY,
  "tools-call-with-logging": NO_LOGGING,
  "tools-call-sampling": "ptc never asks a client to sample",
  "json-schema-2020-12": "looks for a tool of the suite's own in the list, and ptc's four are fixed",
  "elicitation-sep1034-defaults": FORMS,
  "elicitation-sep1330-enums": FORMS,
  "server-sse-polling": STDIO,
  "server-sse-multiple-streams": STDIO,
  "dns-rebinding-protection": STDIO,
  "resources-list": NO_RESOURCES,
  "resources-read-text": NO_RESOURCES,
  "resources-read-binary": NO_RESOURCES,
  "resources-templates-read": NO_RESOURCES,
  "resources-subscribe": NO_RESOURCES,
  "resources-unsubscribe": NO_RESOURCES,
  "prompts-list": NO_PROMPTS,
  "prompts-get-simple": NO_PROMPTS,
  "prompts-get-with-args": NO_PROMPTS,
  "prompts-get-embedded-resource": NO_PROMPTS,
  "prompts-get-with-image": NO_PROMPTS,
};

describeClient(
  "the public conformance suite",
  () => findScript("@modelcontextprotocol/conformance", "conformance"),
  (conformance) => {
    test("has no scenario that has not been looked at", async () => {
      const { stdout } = await runClient(conformance, ["list", "--server"], { cwd: served().home });
      const scenarios = [...stdout.matchAll(/^ +- (\S+)/gm)].map(([, name]) => name);
      expect(scenarios.sort()).toEqual([...APPLY, ...Object.keys(DO_NOT_APPLY)].sort());
    });

    test.for(APPLY)("passes its scenario %s", async (scenario) => {
      const { folder, serve, home } = served();
      const bridge = bridgeToStdio({ ...serve, cwd: folder.directory }, (message) => {
        if (!("method" in message) || message.method !== "tools/call") return message;
        const code = CONFORMANCE_PROGRAMS[String(message.params?.name)];
        if (code === undefined) return message;
        return { ...message, params: { ...message.params, name: "execute_program", arguments: { code } } };
      });
      const args = ["server", "--url", `${await listen(bridge)}/mcp`, "--scenario", scenario];
      const { code, stdout } = await runClient(conformance, args, { cwd: home });
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/Passed: 1\/1, 0 failed/) });
    });
  },
);
