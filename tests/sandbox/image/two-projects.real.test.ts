import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { envelopeOf, fixtureServer, usePtc } from "../../cli/ptc-process.ts";
import { describeOnEngines } from "../in-sandbox.ts";

/** A package of the distribution is small, and no other test uses it. */
const PACKAGE = "six";
const hasPackages = existsSync("/usr/bin/apt-get");
const newProject = usePtc();

describeOnEngines("two projects on one machine", (open, engine) => {
  const env = { PTC_ENGINE: engine, PTC_HOST: "off" };
  const servers = [fixtureServer("x", "documents.mjs")];
  let left: string | undefined;

  afterAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "ptc-two-projects-"));
    const store = await open(folder).openImages?.();
    if (left !== undefined) await store?.remove(left);
    rmSync(folder, { recursive: true });
    // The short name is that of the last build.
    await newProject({ "ptc.yaml": { servers } }).ptc(["image", "build"], { env });
  });

  test.runIf(hasPackages)(
    "have images side by side, and one that has none yet is told the command that makes it",
    async () => {
      const plain = newProject({
        "ptc.yaml": { servers, languages: ["python"] },
        "program.py": "result = 1",
      });
      const sandbox = { python_packages: [PACKAGE] };
      const packaged = newProject({
        "ptc.yaml": { servers, sandbox, languages: ["python"] },
        "program.py": `import ${PACKAGE}\nresult = ${PACKAGE}.__name__`,
      });
      await plain.generate();
      await packaged.generate();
      const run = async (project: typeof plain) => {
        const exited = await project.ptc(["run", "program.py", "--json"], { env });
        return { code: exited.code, envelope: envelopeOf(exited) };
      };
      const built = async (project: typeof plain) => {
        const exited = await project.ptc(["image", "build", "--json"], { env });
        expect(exited).toMatchObject({ code: 0 });
        return JSON.parse(exited.stdout) as { image: string; digest: string };
      };
      const ours = await built(plain);
      const missing = `the image ptc-runner:[0-9a-f]{12} \\(with python3-${PACKAGE}\\), which this project needs, is not here; run \`ptc image build\``;
      expect(await run(packaged)).toMatchObject({
        code: 3,
        envelope: {
          sandbox_image: null,
          result: { error: { type: "SandboxUnavailable", message: expect.stringMatching(`^${missing}$`) } },
        },
      });
      const doctor = async () => (await packaged.ptc(["doctor"], { env })).stdout;
      expect(await doctor()).toMatch(new RegExp(`^FAIL  image +${missing}$`, "m"));

      const theirs = await built(packaged);
      noteBuilt(theirs.image);
      expect(theirs).not.toMatchObject({ image: ours.image });
      expect(await run(packaged)).toMatchObject({
        code: 0,
        envelope: { sandbox_image: theirs.digest, result: { data: PACKAGE } },
      });
      expect(await doctor()).toMatch(
        new RegExp(`^ok    image +${theirs.image}, with python3-${PACKAGE}`, "m"),
      );
      expect(await run(plain)).toMatchObject({
        code: 0,
        envelope: { sandbox_image: ours.digest, result: { data: 1 } },
      });

      const named = newProject({
        "ptc.yaml": { servers, languages: ["python"], sandbox: { ...sandbox, image: ours.image } },
        "program.py": "result = 1",
      });
      await named.generate();
      expect(await run(named)).toMatchObject({
        code: 3,
        envelope: {
          result: {
            error: { message: expect.stringMatching(`^the image ${ours.image} lacks python3-${PACKAGE}, `) },
          },
        },
      });
    },
  );

  function noteBuilt(reference: string): void {
    left = reference;
  }
});
