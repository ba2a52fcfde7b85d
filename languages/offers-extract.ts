import { EXTRACT_NAME, EXTRACT_SERVER } from "../protocol/tool-names.ts";
import type { ModuleSource } from "./module-source.ts";

/** Whether a program may mean the function that asks a model, and there is one that it may call. */
export async function offersExtract(code: string, source: ModuleSource): Promise<boolean> {
  if (!mayExtract(code, source)) return false;
  const module = await source.load(EXTRACT_SERVER);
  return module?.tools.some((tool) => tool.namespacedName === EXTRACT_NAME && tool.isAvailable) === true;
}

/** Whether a program may mean that function, where there is one. Loads nothing. */
export function mayExtract(code: string, source: ModuleSource): boolean {
  return source.modules().includes(EXTRACT_SERVER) && /\bextract\b/.test(code);
}
