import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { relativeTargets, renderPackedReadme, repositoryOf } from "../../scripts/packed-readme.ts";

const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const repository = repositoryOf(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));

describe("the README of the package", () => {
  it("has every link and image of README.md in full, to a file that there is", () => {
    const targets = relativeTargets(readme);
    expect(targets.length).toBeGreaterThan(40);
    expect(targets.filter(({ isImage }) => isImage).length).toBeGreaterThan(2);
    const missing = targets.filter(({ target }) => !existsSync(join(root, target.replace(/#.*/, ""))));
    expect(missing).toEqual([]);
    const packed = renderPackedReadme(readme, repository);
    expect(relativeTargets(packed)).toEqual([]);
    for (const { target, isImage } of targets)
      expect(packed).toContain(
        isImage
          ? `https://raw.githubusercontent.com/ptc-mcp/ptc/${repository.tag}/${target}`
          : `https://github.com/ptc-mcp/ptc/blob/${repository.tag}/${target}`,
      );
  });

  it.each([
    ["[a](docs/a.md#b)", "[a](https://github.com/o/n/blob/v1/docs/a.md#b)"],
    ["[`a` b](docs/a.md)", "[`a` b](https://github.com/o/n/blob/v1/docs/a.md)"],
    ["![a](docs/a.png)", "![a](https://raw.githubusercontent.com/o/n/v1/docs/a.png)"],
    ["![a](a.svg)", "![a](https://raw.githubusercontent.com/o/n/v1/a.svg?sanitize=true)"],
    [
      "[![a](a.png)](b.md)",
      "[![a](https://raw.githubusercontent.com/o/n/v1/a.png)](https://github.com/o/n/blob/v1/b.md)",
    ],
    [
      '<a href="b.md"><img src="a.png" alt="a"></a>',
      '<a href="https://github.com/o/n/blob/v1/b.md"><img src="https://raw.githubusercontent.com/o/n/v1/a.png" alt="a"></a>',
    ],
    [
      "[a](#b) [a](https://x.test/a) [a](mailto:a@x.test)",
      "[a](#b) [a](https://x.test/a) [a](mailto:a@x.test)",
    ],
    ["`[a](b.md)`", "`[a](b.md)`"],
    ["```md\n[a](b.md)\n```", "```md\n[a](b.md)\n```"],
  ])("turns %s into %s", (page, packed) => {
    expect(renderPackedReadme(page, { url: "https://github.com/o/n", tag: "v1" })).toBe(packed);
  });

  it("is not made for a repository whose files have other addresses", () => {
    const manifest = { repository: { url: "git+https://example.com/o/n.git" }, version: "1.0.0" };
    expect(() => repositoryOf(manifest)).toThrow("repository.url");
  });
});
