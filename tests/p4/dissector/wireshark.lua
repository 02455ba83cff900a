-- SPDX-License-Identifier: Apache-2.0
-- As much of Wireshark's interface as a dissector uses: what is shown becomes lines of text.
shown, registered = {}, {}
local function range(data, first, size)
  local r = { data = data, first = first, size = size }
  function r:bitfield(at, width)
    local number = 0
    for i = at, at + width - 1 do
      local byte = self.data:byte(self.first + math.floor(i / 8) + 1)
      number = number * 2 + math.floor(byte / 2 ^ (7 - i % 8)) % 2
    end
    return math.tointeger and math.tointeger(number) or number
  end
  function r:tvb() return self end
  function r:text()
    return (self.data:sub(self.first + 1, self.first + self.size):gsub(".", function(b) return string.format("%02x", b:byte()) end))
  end
  return r
end
function tvb(data)
  local b = {}
  function b:len() return #data end
  setmetatable(b, { __call = function(_, first, size)
    first = first or 0
    size = size or #data - first
    assert(first >= 0 and size > 0 and first + size <= #data, "range")
    return range(data, first, size)
  end })
  return b
end
local function tree(depth)
  local t = {}
  function t:add(what, r, text)
    shown[#shown + 1] = string.rep(" ", depth) .. tostring(what.label) .. " " .. r:text() .. (text and " " .. tostring(text) or "")
    return tree(depth + 1)
  end
  return t
end
function Proto(name, description) return { name = name, description = description, label = name } end
ProtoField = setmetatable({}, { __index = function(_, kind)
  return function(path) return { label = kind .. " " .. path } end
end })
base = { DEC_HEX = 1 }
Dissector = { get = function() return { call = function(_, r) shown[#shown + 1] = "data " .. r:text() end } end }
DissectorTable = { get = function(name) return { add = function(_, key, proto) registered[name .. "=" .. tostring(key)] = proto end } end }
function dissect(where, data)
  shown = {}
  registered[where].dissector(tvb(data), { cols = {} }, tree(0))
  return table.concat(shown, "\n")
end
