-- SPDX-License-Identifier: Apache-2.0
-- What every dissector needs: bits, extraction, the walk through the states.
do
  local fields = {}
  for _, rows in pairs(headers) do
    for _, row in ipairs(rows) do fields[#fields + 1] = row.field end
  end
  proto.fields = fields
end

-- Bits of a buffer: a number up to 32, hexadecimal digits beyond.
local function bits(buffer, at, width)
  if at + width > buffer:len() * 8 then return width <= 32 and 0 or string.rep("0", math.floor((width + 3) / 4)) end
  if width <= 32 then return buffer(0):bitfield(at, width) end
  local digits, first = {}, width % 4
  if first > 0 then
    digits[1] = string.format("%x", buffer(0):bitfield(at, first))
  end
  for here = at + first, at + width - 4, 4 do
    digits[#digits + 1] = string.format("%x", buffer(0):bitfield(here, 4))
  end
  return table.concat(digits)
end

local function band(a, b)
  local result, bit = 0, 1
  while a > 0 and b > 0 do
    if a % 2 == 1 and b % 2 == 1 then result = result + bit end
    a, b, bit = math.floor(a / 2), math.floor(b / 2), bit * 2
  end
  return result
end

local function slice(number, high, low)
  return math.floor(number / 2 ^ low) % 2 ^ (high - low + 1)
end

local function value(c, name, width)
  local known = c.values[name]
  if known ~= nil then return known end
  return width <= 32 and 0 or string.rep("0", math.floor((width + 3) / 4))
end

local function stop(c, reason)
  c.stopped = reason
  return "accept"
end

-- Show a header and remember its fields; false if the packet ends before it does.
local function extract(c, kind, place, varbit)
  local rows, total = headers[kind], 0
  for _, row in ipairs(rows) do total = total + (row.bits or varbit or 0) end
  local stack = place:match("^(.*)%.next$")
  local names = { place }
  if stack then
    local index = c.next[stack] or 0
    c.next[stack] = index + 1
    names = { stack .. "[" .. index .. "]", stack .. ".last" }
  end
  local first = math.floor(c.at / 8)
  if c.at + total > c.buffer:len() * 8 then
    c.tree:add(proto, c.buffer(math.min(first, math.max(c.buffer:len() - 1, 0))), names[1] .. " [cut off]")
    return false
  end
  if total == 0 then return true end
  local tree = c.tree:add(proto, c.buffer(first, math.floor((c.at + total + 7) / 8) - first), names[1])
  for _, row in ipairs(rows) do
    local width = row.bits or varbit or 0
    if width > 0 then
      local from = math.floor(c.at / 8)
      local range = c.buffer(from, math.floor((c.at + width + 7) / 8) - from)
      local number = bits(c.buffer, c.at, width)
      if width <= 32 and (c.at % 8 > 0 or width % 8 > 0) then
        tree:add(row.field, range, number)
      else
        tree:add(row.field, range)
      end
      for _, name in ipairs(names) do c.values[name .. "." .. row.name] = number end
      c.at = c.at + width
    end
  end
  for _, name in ipairs(names) do c.valid[name] = true end
  return true
end

local function register(table_name, key, start)
  function proto.dissector(buffer, pinfo, root)
    pinfo.cols.protocol = proto.name
    local c = { buffer = buffer, at = 0, values = {}, valid = {}, next = {} }
    c.tree = root:add(proto, buffer(), proto.description)
    local state = start
    for _ = 1, 256 do
      local run = states[state]
      if not run then break end
      state = run(c)
    end
    if c.stopped then
      c.tree:add(proto, buffer(), "[the parser's next state depends on: " .. c.stopped .. "]")
    elseif state == "reject" then
      c.tree:add(proto, buffer(), "[the parser rejects this packet]")
    end
    local rest = math.floor((c.at + 7) / 8)
    if rest < buffer:len() then
      Dissector.get("data"):call(buffer(rest):tvb(), pinfo, root)
    end
    return buffer:len()
  end
  DissectorTable.get(table_name):add(key, proto)
end
