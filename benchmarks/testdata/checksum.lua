-- checksum.lua BENCH_LUA N... - what testdata/checksum.c does, for Lua.
dofile(arg[1])
for i = 2, #arg do
  local n = tonumber(arg[i])
  print(("%.17g"):format(checksum(n)))
  run_iter(n)
  run_iter(n)
end
