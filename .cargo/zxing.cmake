foreach(format 1D AZTEC DATAMATRIX MAXICODE PDF417)
    set("ZXING_ENABLE_${format}" OFF CACHE BOOL "")
endforeach()
