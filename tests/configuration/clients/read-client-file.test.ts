import { describe, expect, it } from "vitest";
import { readClientFile } from "../../../configuration/clients/read-client-file.ts";

describe("the file of a client", () => {
  it("may be JSON with comments and trailing commas", async () => {
    const text = `// servers
    {
      /* mine */ "mcpServers": { "a": { "command": "x", "args": ["//no", "/* no */", "a,]", "\\"//", ], }, },
    } // end`;
    expect(await readClientFile("settings.json", text)).toEqual({
      mcpServers: { a: { command: "x", args: ["//no", "/* no */", "a,]", '"//'] } },
    });
  });

  it("may be TOML", async () => {
    const text = '[mcp_servers.docs]\ncommand = "npx" # runs it\nargs = ["-y", "docs"]\n';
    expect(await readClientFile("config.toml", text)).toEqual({
      mcp_servers: { docs: { command: "npx", args: ["-y", "docs"] } },
    });
  });

  it.each([
    ["x.json", '{"TOKEN": s3cret}', "is not JSON"],
    ["x.json", "{,}", "is not JSON"],
    ["x.json", "[,]", "is not JSON"],
    ["x.json", '{"a": 1,,}', "is not JSON"],
    ["x.json", '{"a": 1 /* open', "is not JSON"],
    ["x.json", `${"[".repeat(50_000)}//`, "nests deeper than 128 levels"],
    ["x.json", `{"a": 1, /**/ "a": 2}`, 'has the key "a" twice in one object'],
    ["x.toml", 'TOKEN = s3cret"', "is not TOML"],
    ["x.toml", `a = ${"[".repeat(50_000)}`, "is not TOML"],
    ["x.toml", "a=1\n".repeat(400_000), "is larger than 1048576 bytes, which is more than is read of TOML"],
  ])("is refused as %s, without a quotation (case %#)", async (name, text, message) => {
    await expect(readClientFile(name, text)).rejects.toThrow(message);
    await expect(readClientFile(name, text)).rejects.not.toThrow("s3cret");
  });
});
