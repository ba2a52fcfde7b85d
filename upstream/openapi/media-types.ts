/** Media types (RFC 9110, section 8.3), as far as bodies and answers go by them. */

export type MediaKind = "json" | "form" | "multipart" | "text" | "binary";

/** A media type in lower case, without parameters. */
export function plainType(type: string): string {
  return type.split(";")[0]?.trim().toLowerCase() ?? "";
}

/** The kind of a media type, which must be in lower case and without parameters. */
export function kindOf(type: string): MediaKind {
  if (/[/+]json$/.test(type) || type === "application/*") return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type.startsWith("multipart/")) return "multipart";
  return type.startsWith("text/") || /[/+](xml|yaml|x-yaml|javascript|graphql|x-ndjson)$/.test(type)
    ? "text"
    : "binary";
}

/** A concrete media type for one with `*`. */
export function concreteType(type: string, kind: MediaKind): string {
  if (!type.includes("*")) return type;
  const usual = { json: "application/json", text: "text/plain", multipart: "multipart/form-data" };
  return { ...usual, form: "application/x-www-form-urlencoded", binary: "application/octet-stream" }[kind];
}
