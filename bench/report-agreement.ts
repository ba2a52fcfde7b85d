import { type Agreement, MIN_REFUSED } from "../tests/codegen/agreement.ts";

/** Prints how often types and validator agree, and returns whether that is often enough. */
export function reportAgreement({ schemas, accepted, refused }: Agreement): boolean {
  const typed = accepted.filter(({ typeChecks }) => typeChecks).length;
  const untyped = refused.filter(({ typeChecks }) => !typeChecks).length;
  const holds = typed === accepted.length && untyped >= refused.length * MIN_REFUSED;
  console.log(
    `fidelity: ${typed} of ${accepted.length} accepted values type-check, ${untyped} of ${refused.length} values ` +
      `refused for their shape do not (at least all and ${MIN_REFUSED * 100} %) ${holds ? "ok" : "TYPES DIFFER"}`,
  );
  console.log(`    values sampled and mutated from ${schemas} schemas`);
  return holds;
}
