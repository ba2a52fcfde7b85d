/**
 * The suite calls tools that a server under test is to have. ptc has its own four, so each such call is made a call of
 * `execute_program`, with a program that does what the suite's tool should; the reply goes back as it is.
 */
export const CONFORMANCE_PROGRAMS: Record<string, string> = {
  test_simple_text: 'console.log("This is a simple text response for testing.");',
  test_error_handling: 'throw new Error("This tool intentionally returns an error for testing");',
  test_tool_with_progress: `for (const documentId of ["a", "b", "c"]) {
    await mcp__my_documents__get_document({ documentId });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }`,
  test_elicitation: 'await mcp__my_documents__delete_document({ documentId: "a" });',
};
