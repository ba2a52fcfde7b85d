import type { Program } from "../languages/program.ts";
import type { DirectCall } from "./run-request.ts";

/** The name of the file that a single call stands for. */
const FILE_NAME = "call.ts";

const CODE = /^globalThis\.result = await callTool\("(?:[^"\\]|\\.)*", data\);\n$/;

/**
 * The program that a call stands for. Its digest and its value or failure are the same whether it runs in a sandbox or its one
 * call is made directly.
 */
export function programOfCall({ tool, arguments: data }: DirectCall): Program {
  const code = `globalThis.result = await callTool(${JSON.stringify(tool)}, data);\n`;
  return { code, data, language: "typescript", fileName: FILE_NAME };
}

/** Whether a program is one that a call stands for, as it runs when the call is replayed or goes on after a question. */
export function isProgramOfCall({ code, fileName }: Partial<Pick<Program, "code" | "fileName">>): boolean {
  return fileName === FILE_NAME && code !== undefined && CODE.test(code);
}
