import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { usePtc } from "../../../cli/ptc-process.ts";

const newProject = usePtc();
const EVERYTHING = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

test("a client of ptc has the resources, prompts and completions of a real server as without ptc, but for their names", async () => {
  const server = { name: "everything", command: process.execPath, args: [EVERYTHING, "stdio"] };
  const project = newProject({
    "ptc.yaml": { servers: [server], discovery: "direct", sandbox: { warm: 0 } },
  });
  expect(await project.ptc(["generate"])).toMatchObject({ code: 0 });
  const { client } = await project.serve();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("mcp__everything__echo");
  const { resources } = await client.listResources();
  const [first] = resources;
  expect(first?.uri).toMatch(/^mcp:\/\/everything\/demo:\/\//);
  const uri = first?.uri ?? "";
  expect((await client.readResource({ uri })).contents[0]).toMatchObject({ uri });
  const { resourceTemplates } = await client.listResourceTemplates();
  expect(resourceTemplates.length).toBeGreaterThan(0);
  const links = await client.callTool({
    name: "mcp__everything__get-resource-links",
    arguments: { count: 2 },
  });
  const link = (links.content as { type: string; uri?: string }[]).find(
    ({ type }) => type === "resource_link",
  );
  expect((await client.readResource({ uri: link?.uri ?? "" })).contents).toHaveLength(1);
  const { prompts } = await client.listPrompts();
  const simple = prompts.find(({ arguments: given = [] }) => given.length === 0);
  expect((await client.getPrompt({ name: simple?.name ?? "" })).messages.length).toBeGreaterThan(0);
  const completed = await client.complete({
    ref: { type: "ref/prompt", name: "mcp__everything__completable-prompt" },
    argument: { name: "department", value: "E" },
  });
  expect(completed.completion.values).toEqual(["Engineering"]);
}, 120_000);
