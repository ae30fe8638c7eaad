# cmake -DPAGE_FILE=.. -DFUNCTION=.. -DTEMPLATE=.. -DOUTPUT=.. -P embed_page.cmake
file(READ ${PAGE_FILE} PAGE)
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
