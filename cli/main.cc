#include "cli/run.h"

int main(int argc, char** argv) { return tangram::RunMain(argc, argv); }
