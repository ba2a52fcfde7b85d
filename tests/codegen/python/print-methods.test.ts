import { expect, test } from "vitest";
import { type MethodCapability, withMethods } from "../../../upstream/mcp/server-methods.ts";
import { listingOf } from "../list-tools.ts";
import { generateStubs } from "./generate-stubs.ts";

const RESOURCES = `class _resources:
    @_either_way
    async def list(self) -> ResourcesListOutput:
        """All resources, and templates of URIs."""
    @_either_way
    async def read(self, uri: str) -> ResourcesReadOutput:
        """The contents of one resource."""

resources: _resources
`;
const PROMPTS = `class _prompts:
    @_either_way
    async def get(self, name: str, arguments: Mapping[str, str] | None = ...) -> PromptsGetOutput:
        """The messages of one prompt."""
    @_either_way
    async def list(self) -> PromptsListOutput:
        """All prompts, and their arguments."""

prompts: _prompts
`;
const TOOL = { name: "resources", inputSchema: { type: "object" } };

test.each<[what: string, tools: object[], methods: MethodCapability[], objects: string]>([
  ["resources and prompts", [], ["resources", "prompts"], `${RESOURCES}\n${PROMPTS}`],
  ["prompts alone", [], ["prompts"], PROMPTS],
  ["prompts, beside a tool called resources", [TOOL], ["resources", "prompts"], PROMPTS],
  ["neither", [TOOL], [], ""],
])("a module has %s as objects, typed", async (_what, tools, methods, objects) => {
  const listing = listingOf(withMethods(tools, new Set(methods)), "demo");
  const { files, warnings } = await generateStubs([listing]);
  expect(warnings).toEqual([]);
  const text = files.get("servers/demo/__init__.pyi") ?? "";
  expect(text.slice(/^class _(?:resources|prompts):/m.exec(text)?.index ?? text.length)).toBe(objects);
});
