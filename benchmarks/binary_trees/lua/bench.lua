--[[
binary_trees - build many perfect binary trees, count their nodes, and discard
them, while a large one stays alive.

parameter  depth of the large tree, 6 to 24 (smaller ones count as 6)
checksum   the total number of nodes of all trees

Based on the description in the Computer Language Benchmarks Game. For LuaJIT.
]]

local LEAST, MOST = 4, 24

local function make(depth)
  if depth == 0 then
    return { left = nil, right = nil }
  end
  return { left = make(depth - 1), right = make(depth - 1) }
end

local function count(node)
  if not node.left then
    return 1
  end
  return 1 + count(node.left) + count(node.right)
end

function checksum(n)
  if n > MOST then
    print(("binary_trees: parameter %d is above %d"):format(n, MOST))
    os.exit(1)
  end
  local most = math.max(n, LEAST + 2)
  local nodes = count(make(most + 1))
  local large = make(most)
  for depth = LEAST, most, 2 do
    for _ = 1, 2 ^ (most - depth + LEAST) do
      nodes = nodes + count(make(depth))
    end
  end
  return nodes + count(large)
end

-- Known checksums; README.md lists their origin. Checksums of other parameters are
-- those of their first iteration.
local expected = {
  [10] = 135854,
  [12] = 674478,
  [14] = 3222190,
}

function run_iter(n)
  local got = checksum(n)
  local want = expected[n]
  if not want then
    expected[n] = got
    want = got
  end
  if got ~= want then
    print(("binary_trees: parameter %d: checksum %.17g, expected %.17g"):format(n, got, want))
    os.exit(1)
  end
end
